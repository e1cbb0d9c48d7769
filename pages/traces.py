import streamlit as st
st.header('traces')
