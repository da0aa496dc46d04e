#include <stdio.h>
#include <stdlib.h>
#include "base/error.h"
#include "command.h"
static const struct argp_option o[]={{"arith",'a',"LIST",0,"",0},{0}};
struct opt { struct common_options common; const char *a; char *files[16]; int n; int first; };
static error_t parse(int key,char*arg,struct argp_state*s){struct opt*x=s->input; switch(key){case ARGP_KEY_INIT:s->child_inputs[0]=&x->common;return 0;case 'a':x->a=arg;return 0;case ARGP_KEY_ARG: if(!x->common.model)return ARGP_ERR_UNKNOWN; x->files[x->n++]=arg; return 0; default:return ARGP_ERR_UNKNOWN;}}
int command_compare(int argc,char**argv){
 static const struct argp_child ch[]={{&common_argp,0,"",1},{0}};
 static const struct argp argp={o,parse,"MODEL",0,ch,0,0};
 struct opt x={.a="fp32"}; common_init(&x.common); argp_parse(&argp,argc,argv,0,0,&x);
 struct ulp_error e={0}; struct ulp_arithmetic*l; size_t n; struct ulp_model*m; struct sample_list sl; struct ulp_recording_list rl={0}; struct ulp_comparison c;
 if(parse_arithmetics(x.a,&l,&n,&e))return fail(&e);
 if(ulp_model_load(x.common.model,&m,&e))return fail(&e);
 if(read_samples(m,&x.common,&sl,&e))return fail(&e);
 for(int i=0;i<x.n;i++) if(ulp_recording_read(x.files[i],m,&rl,&e))return fail(&e);
 struct ulp_compare_options co={.arithmetics=l,.arithmetic_count=n}; ulp_arithmetic_find("mpfr:128",&co.reference,&e);
 if(ulp_compare_recordings(m,&sl.items[0].inputs,rl.items,rl.count,&co,&c,&e))return fail(&e);
 for(size_t f=0;f<c.file_count;f++){printf("%s explained %d by %td first %td\n",c.files[f].name,c.files[f].explained,c.files[f].by,c.files[f].first_unexplained);
 for(size_t t=0;t<c.tensor_count;t++){struct ulp_compared_tensor*T=&c.tensors[t];struct ulp_compared_value*v=&T->values[f]; if(!v->recorded)continue; struct ulp_expected_error*E=&T->expected[v->by];
 printf("  %-30.30s %-10s n%-7zu ref %9.3g rms %9.3g exp %9.3g ratio %7.3g/%6.3g max %7.3g/%6.3g k %6.1f nf %zu/%zu%s%s %s %s\n",T->name,T->op?T->op:"input",v->truth.count,T->range.ref_rms,v->truth.rms,E->rms,v->ratio,v->limit,v->max_ratio,v->max_limit,E->freedom,v->truth.nonfinite,E->nonfinite,E->open?" OPEN":"",E->shapeless?" SHAPELESS":"",v->explained?"ok":"UNEXPLAINED",c.arithmetics[v->by]);}}
 printf("%.2f s\n",c.seconds); int code=0; for(size_t f=0;f<c.file_count;f++)code|=!c.files[f].explained; return code;}
