# tests of analysis
