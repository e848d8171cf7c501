//! x
use plimsoll::*;use plimsoll::testing::*;use plimsoll_pack::testing::Rng;
fn main(){ let mut best: Option<(usize,String)>=None; let mut count=0;
 let mode=std::env::args().nth(1).unwrap_or_default();
 for seed in 0..60000u64 { let mut rng=Rng::new(seed); let shape=Shape{execution: match mode.as_str(){"o"=>Some(Execution::InOrder),"p"=>Some(Execution::Partial),"q"=>Some(Execution::Queues),_=>None},..Shape::everything()}; let p=random_program(&mut rng,&shape);
  if p.values.iter().any(|v|v.storage==Storage::Shared){continue;}
  let mut o=Options::default(); o.align=1; o.place.inputs=rng.chance(50); o.place.params=rng.chance(50);o.place.constants=rng.chance(50); o.reclaim_inputs=rng.chance(40);
  let r=plan(&p,&o);
  let msg=match &r { Ok(v)=> if corrupts(&p,v,Orders(30)) {"CORRUPT".to_string()} else {continue}, Err(PlanError::Program(e)) if e.to_string().contains("must over") => continue, Err(e)=>e.to_string() };
  count+=1;
  let n=p.steps.len()*3+p.values.len();
  if best.as_ref().is_none_or(|b|n<b.0) { let mut s=format!("seed {seed} {msg} reclaim {} {:?} exec {:?}\n",o.reclaim_inputs,o.place,p.execution);
   for (i,v) in p.values.iter().enumerate(){ s+=&format!("  v{i} {}b {:?} {:?} al{:?} g{} view{:?} out{} el{} don{}\n",v.bytes,v.role,v.storage,v.align,v.guard,v.view_of.map(|w|(w.of.0,w.offset)),v.output,v.elided,v.donated);}
   for (i,t) in p.steps.iter().enumerate(){ s+=&format!("  s{i} q{} after{:?} scr{:?}",t.queue,t.after.iter().map(|x|x.0).collect::<Vec<_>>(),t.scratch.map(|s|s.bytes)); for a in &t.accesses { s+=&format!(" {:?}v{}{:?} from{:?} until{:?};",a.kind,a.value.0,a.bytes.map(|b|(b.lo,b.hi)),a.from.map(|f|f.0),a.until);} for w in &t.overwrites{s+=&format!(" OW out v{} in v{} must {}",w.output.0,w.input.0,w.must);} s+="\n";}
   if let Err(PlanError::Rejected(rj))=&r { for (i,pl) in rj.plan.places.iter().enumerate(){ s+=&format!("  v{i} at {:?}\n",pl);} for v in &rj.violations{ s+=&format!("  ! {v}\n");} }
   best=Some((n,s)); } }
 println!("{count} failures\n{}",best.map(|b|b.1).unwrap_or_default()); }
