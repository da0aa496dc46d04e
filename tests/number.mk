# tests of number
