libcore_la_SOURCES += %D%/reason.def %D%/doctor.c %D%/doctor_cause.c %D%/doctor_fields.c %D%/doctor_forecast.c %D%/doctor_lint.c %D%/doctor_text.c %D%/doctor_write.c %D%/doctoring.c %D%/doctoring.h
