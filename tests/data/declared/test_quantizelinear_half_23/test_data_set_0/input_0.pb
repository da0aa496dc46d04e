\
Bx0J¸*º·T^ÐîHÛLVV‰KÚTîÌsQžOÛQªÍ[L›Ñ’MÖÄ»OöÒ¤PL½I‹Â§Q+ÓyP€L)T‚D§QÎÅ–Q#IrNpÉUI7RUÛÇxI'RU0ÌÿDÎTR”F’MãRpP,ÏÈS¾8&Q;QæK&RS>ÏŽLÇ)Rk,ŸQL[LîÄ°Q¡Á)T“DZQ|¼ªR#R.Q4HpP9ÎWSÍÒ~Uƒ>+PÐÈrTÇLONÑeR¿ÆvO