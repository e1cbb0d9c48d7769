import streamlit as st
st.header('settings')
