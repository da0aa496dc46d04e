# tests of load
