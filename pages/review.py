import streamlit as st
st.header('review')
