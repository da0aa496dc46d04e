# tests of run
