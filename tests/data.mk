# tests of data
