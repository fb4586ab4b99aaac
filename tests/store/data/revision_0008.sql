-- A store as revision 0008 wrote it, on one core, on all, and with two patch levels of gcc 12.2.
-- Never regenerate: old stores do not change either.
PRAGMA application_id = 1935894628;
PRAGMA journal_mode = WAL;
BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0008');
CREATE TABLE "candidate" (
	id INTEGER NOT NULL, 
	workload_id INTEGER NOT NULL, 
	target_id INTEGER NOT NULL, 
	parent_id INTEGER, 
	run_id INTEGER NOT NULL, 
	rewrite JSON, 
	trace_key TEXT NOT NULL, 
	depth INTEGER NOT NULL, 
	outcome VARCHAR(16), 
	message TEXT NOT NULL, 
	ast_key TEXT, 
	code_key TEXT, 
	binary_key TEXT, 
	duplicate_of INTEGER, 
	duplicate_level TEXT, 
	stage_s JSON NOT NULL, 
	expanded_at DATETIME, 
	predicted DOUBLE, 
	tree INTEGER DEFAULT '1' NOT NULL, 
	CONSTRAINT pk_candidate PRIMARY KEY (id), 
	CONSTRAINT fk_candidate_target_id FOREIGN KEY(target_id) REFERENCES target (id), 
	CONSTRAINT fk_candidate_workload_id FOREIGN KEY(workload_id) REFERENCES workload (id), 
	CONSTRAINT fk_candidate_parent_id FOREIGN KEY(parent_id) REFERENCES candidate (id), 
	CONSTRAINT ck_candidate_root CHECK ((parent_id IS NULL) = (rewrite IS NULL)), 
	CONSTRAINT fk_candidate_run_id FOREIGN KEY(run_id) REFERENCES run (id), 
	CONSTRAINT fk_candidate_duplicate_of FOREIGN KEY(duplicate_of) REFERENCES candidate (id) DEFERRABLE INITIALLY DEFERRED, 
	CONSTRAINT uq_candidate_workload_id_target_id_trace_key_tree UNIQUE (workload_id, target_id, trace_key, tree)
);
INSERT INTO "candidate" VALUES(1,1,1,NULL,1,NULL,'4f53cda18c2baa0c0354bb5f9a3ecbe5',0,'correct','','r','cr','br',NULL,NULL,'{}','2026-11-22 14:54:06.694705',NULL,1);
INSERT INTO "candidate" VALUES(2,1,1,1,1,'{"transform":"split","version":1,"path":"0.0","label":"for i in seq(0, 8)","args":{"factor":0}}','f66419f6f5d81c69753f81798e3fb178',1,'correct','','one','one','one',NULL,NULL,'{}',NULL,NULL,1);
INSERT INTO "candidate" VALUES(3,1,1,1,1,'{"transform":"split","version":1,"path":"0.1","label":"for i in seq(0, 8)","args":{"factor":1}}','907a185d40b40db21252cb925c90f28c',1,'duplicate','','x',NULL,NULL,2,'binary','{}',NULL,NULL,1);
INSERT INTO "candidate" VALUES(4,1,1,1,1,'{"transform":"split","version":1,"path":"0.2","label":"for i in seq(0, 8)","args":{"factor":2}}','e343b59c65577d0c06aeca3a15b101ba',1,'timeout','slow','c',NULL,NULL,NULL,NULL,'{}',NULL,NULL,1);
INSERT INTO "candidate" VALUES(5,2,1,NULL,2,NULL,'4f53cda18c2baa0c0354bb5f9a3ecbe5',0,'correct','','r','cr','br',NULL,NULL,'{}',NULL,NULL,1);
INSERT INTO "candidate" VALUES(6,3,1,NULL,3,NULL,'4f53cda18c2baa0c0354bb5f9a3ecbe5',0,'correct','','r','cr','br',NULL,NULL,'{}','2026-11-22 14:54:06.734150',NULL,1);
INSERT INTO "candidate" VALUES(7,3,1,6,3,'{"transform":"split","version":1,"path":"0.0","label":"for i in seq(0, 8)","args":{"factor":0}}','f66419f6f5d81c69753f81798e3fb178',1,'correct','','alone','alone','alone',NULL,NULL,'{}',NULL,NULL,1);
INSERT INTO "candidate" VALUES(8,1,2,NULL,4,NULL,'4f53cda18c2baa0c0354bb5f9a3ecbe5',0,'correct','','r','cr','br',NULL,NULL,'{}','2026-11-22 14:54:06.750569',NULL,1);
INSERT INTO "candidate" VALUES(9,1,2,8,4,'{"transform":"split","version":1,"path":"0.0","label":"for i in seq(0, 8)","args":{"factor":0}}','f66419f6f5d81c69753f81798e3fb178',1,'duplicate','','x',NULL,NULL,10,'binary','{}',NULL,NULL,1);
INSERT INTO "candidate" VALUES(10,1,2,8,4,'{"transform":"split","version":1,"path":"0.1","label":"for i in seq(0, 8)","args":{"factor":1}}','907a185d40b40db21252cb925c90f28c',1,'correct','','two','two','two',NULL,NULL,'{}','2026-11-22 14:54:06.754019',NULL,1);
INSERT INTO "candidate" VALUES(11,1,2,8,4,'{"transform":"split","version":1,"path":"0.2","label":"for i in seq(0, 8)","args":{"factor":2}}','e343b59c65577d0c06aeca3a15b101ba',1,'incorrect','element 3 differs','c',NULL,NULL,NULL,NULL,'{}',NULL,NULL,1);
INSERT INTO "candidate" VALUES(12,1,2,8,4,'{"transform":"split","version":1,"path":"0.3","label":"for i in seq(0, 8)","args":{"factor":3}}','12d5e7124a73d92a10cedb9733a730d2',1,'duplicate','','x',NULL,NULL,13,'binary','{}',NULL,NULL,1);
INSERT INTO "candidate" VALUES(13,1,2,10,4,'{"transform":"split","version":1,"path":"0.5","label":"for i in seq(0, 8)","args":{"factor":5}}','68639c8c99c471e6f9dea519f33ba1c0',2,'correct','','three','three','three',NULL,NULL,'{}','2026-11-22 14:54:06.761660',NULL,1);
INSERT INTO "candidate" VALUES(14,1,2,13,4,'{"transform":"split","version":1,"path":"0.6","label":"for i in seq(0, 8)","args":{"factor":6}}','cc3f6e8a66c2efb4755c83bb9404e086',3,'illegal','loop carries a dependence',NULL,NULL,NULL,NULL,NULL,'{}',NULL,NULL,1);
INSERT INTO "candidate" VALUES(15,2,2,NULL,5,NULL,'4f53cda18c2baa0c0354bb5f9a3ecbe5',0,'correct','','r','cr','br',NULL,NULL,'{}',NULL,NULL,1);
INSERT INTO "candidate" VALUES(16,1,3,NULL,6,NULL,'4f53cda18c2baa0c0354bb5f9a3ecbe5',0,'correct','','r','cr','br',NULL,NULL,'{}','2026-11-22 14:54:06.798972',NULL,1);
INSERT INTO "candidate" VALUES(17,1,3,16,6,'{"transform":"split","version":1,"path":"0.0","label":"for i in seq(0, 8)","args":{"factor":0}}','f66419f6f5d81c69753f81798e3fb178',1,'correct','','patched','patched','patched',NULL,NULL,'{}',NULL,NULL,1);
INSERT INTO "candidate" VALUES(18,1,3,NULL,7,NULL,'4f53cda18c2baa0c0354bb5f9a3ecbe5',0,NULL,'',NULL,NULL,NULL,NULL,NULL,'{}',NULL,NULL,2);
INSERT INTO "candidate" VALUES(19,1,4,NULL,8,NULL,'4f53cda18c2baa0c0354bb5f9a3ecbe5',0,'correct','','r','cr','br',NULL,NULL,'{}',NULL,NULL,1);
CREATE TABLE code (
	code_key TEXT NOT NULL, 
	proc TEXT NOT NULL, 
	header TEXT NOT NULL, 
	source TEXT NOT NULL, build JSON, 
	CONSTRAINT pk_code PRIMARY KEY (code_key)
);
CREATE TABLE feature (
	candidate_id INTEGER NOT NULL, 
	version INTEGER NOT NULL, 
	vector BLOB NOT NULL, 
	CONSTRAINT pk_feature PRIMARY KEY (candidate_id), 
	CONSTRAINT fk_feature_candidate_id_candidate FOREIGN KEY(candidate_id) REFERENCES candidate (id)
);
INSERT INTO "feature" VALUES(2,1,X'00000001');
INSERT INTO "feature" VALUES(4,1,X'00000002');
INSERT INTO "feature" VALUES(9,2,X'00000003');
CREATE TABLE measurement (
	id INTEGER NOT NULL, 
	candidate_id INTEGER NOT NULL, 
	run_id INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	samples JSON NOT NULL, 
	speedup DOUBLE NOT NULL, 
	low DOUBLE NOT NULL, 
	high DOUBLE NOT NULL, 
	candidate_ns DOUBLE NOT NULL, 
	created_at DATETIME NOT NULL, 
	CONSTRAINT pk_measurement PRIMARY KEY (id), 
	CONSTRAINT fk_measurement_candidate_id FOREIGN KEY(candidate_id) REFERENCES candidate (id), 
	CONSTRAINT fk_measurement_run_id FOREIGN KEY(run_id) REFERENCES run (id)
);
INSERT INTO "measurement" VALUES(1,1,1,'baseline','{"kind":"baseline","rounds":[[[100.0,110.0],[100.0,900.0]]],"calls":7,"host":{"load":"0.1"},"reference":"","reference_speedup":1.0}',1.0,1.0,1.0,100.0,'2026-11-22 14:54:06.661716');
INSERT INTO "measurement" VALUES(2,2,1,'screen','{"kind":"screen","rounds":[[[100.0,110.0],[200.0,900.0]]],"calls":7,"host":{"load":"0.1"},"reference":"","reference_speedup":1.0}',2.0,2.0,2.0,100.0,'2026-11-22 14:54:06.699195');
INSERT INTO "measurement" VALUES(3,5,2,'baseline','{"kind":"baseline","rounds":[[[100.0,110.0],[100.0,900.0]]],"calls":7,"host":{"load":"0.1"},"reference":"","reference_speedup":1.0}',1.0,1.0,1.0,100.0,'2026-11-22 14:54:06.717055');
INSERT INTO "measurement" VALUES(4,6,3,'baseline','{"kind":"baseline","rounds":[[[100.0,110.0],[100.0,900.0]]],"calls":7,"host":{"load":"0.1"},"reference":"","reference_speedup":1.0}',1.0,1.0,1.0,100.0,'2026-11-22 14:54:06.725012');
INSERT INTO "measurement" VALUES(5,7,3,'screen','{"kind":"screen","rounds":[[[100.0,110.0],[500.0,900.0]]],"calls":7,"host":{"load":"0.1"},"reference":"","reference_speedup":1.0}',5.0,5.0,5.0,100.0,'2026-11-22 14:54:06.735085');
INSERT INTO "measurement" VALUES(6,8,4,'baseline','{"kind":"baseline","rounds":[[[100.0,110.0],[100.0,900.0]]],"calls":7,"host":{"load":"0.1"},"reference":"","reference_speedup":1.0}',1.0,1.0,1.0,100.0,'2026-11-22 14:54:06.748253');
INSERT INTO "measurement" VALUES(7,10,4,'screen','{"kind":"screen","rounds":[[[100.0,110.0],[300.0,900.0]]],"calls":7,"host":{"load":"0.1"},"reference":"","reference_speedup":1.0}',3.0,3.0,3.0,100.0,'2026-11-22 14:54:06.751259');
INSERT INTO "measurement" VALUES(8,10,4,'confirm','{"kind":"confirm","rounds":[[[100.0,110.0],[310.0,900.0]]],"calls":7,"host":{"load":"0.1"},"reference":"","reference_speedup":1.0}',3.1,3.1,3.1,100.0,'2026-11-22 14:54:06.751996');
INSERT INTO "measurement" VALUES(9,13,4,'screen','{"kind":"screen","rounds":[[[100.0,110.0],[400.0,900.0]]],"calls":7,"host":{"load":"0.1"},"reference":"","reference_speedup":1.0}',4.0,4.0,4.0,100.0,'2026-11-22 14:54:06.758853');
INSERT INTO "measurement" VALUES(10,15,5,'baseline','{"kind":"baseline","rounds":[[[100.0,110.0],[100.0,900.0]]],"calls":7,"host":{"load":"0.1"},"reference":"","reference_speedup":1.0}',1.0,1.0,1.0,100.0,'2026-11-22 14:54:06.783523');
INSERT INTO "measurement" VALUES(11,16,6,'baseline','{"kind":"baseline","rounds":[[[100.0,110.0],[100.0,900.0]]],"calls":7,"host":{"load":"0.1"},"reference":"","reference_speedup":1.0}',1.0,1.0,1.0,100.0,'2026-11-22 14:54:06.795644');
INSERT INTO "measurement" VALUES(12,17,6,'screen','{"kind":"screen","rounds":[[[100.0,110.0],[250.0,900.0]]],"calls":7,"host":{"load":"0.1"},"reference":"","reference_speedup":1.0}',2.5,2.5,2.5,100.0,'2026-11-22 14:54:06.800035');
INSERT INTO "measurement" VALUES(13,19,8,'baseline','{"kind":"baseline","rounds":[[[100.0,110.0],[100.0,900.0]]],"calls":7,"host":{"load":"0.1"},"reference":"","reference_speedup":1.0}',1.0,1.0,1.0,100.0,'2026-11-22 14:54:06.822218');
CREATE TABLE "run" (
	id INTEGER NOT NULL, 
	workload_id INTEGER NOT NULL, 
	target_id INTEGER NOT NULL, 
	seed INTEGER NOT NULL, 
	strategy TEXT NOT NULL, 
	settings JSON NOT NULL, 
	environment JSON NOT NULL, 
	process TEXT NOT NULL, 
	status VARCHAR(16) NOT NULL, 
	started_at DATETIME NOT NULL, 
	finished_at DATETIME, 
	summary JSON, 
	tree INTEGER DEFAULT '1' NOT NULL, 
	uuid TEXT NOT NULL, 
	CONSTRAINT pk_run PRIMARY KEY (id), 
	CONSTRAINT fk_run_target_id FOREIGN KEY(target_id) REFERENCES target (id), 
	CONSTRAINT fk_run_workload_id FOREIGN KEY(workload_id) REFERENCES workload (id), 
	CONSTRAINT uq_run_uuid UNIQUE (uuid)
);
INSERT INTO "run" VALUES(1,1,1,1,'beam','{"transforms":["split"],"cache":"warm"}','{"load":"0.5"}','bd39d49c-7974-4b6b-83ad-dead97c6bf3e/5123/451564/vm','finished','2026-11-22 14:54:06.647641','2026-11-22 14:54:06.707915','{"best":2.0}',1,'08ba1af679f5479aa963314ab7baa557');
INSERT INTO "run" VALUES(2,2,1,1,'beam','{"transforms":["split"],"cache":"warm"}','{"load":"0.5"}','bd39d49c-7974-4b6b-83ad-dead97c6bf3e/5123/451564/vm','finished','2026-11-22 14:54:06.715136','2026-11-22 14:54:06.717953','{"best":2.0}',1,'9bc7c97c47694b5d9b13df2f7251347c');
INSERT INTO "run" VALUES(3,3,1,1,'beam','{"transforms":["split"],"cache":"warm"}','{"load":"0.5"}','bd39d49c-7974-4b6b-83ad-dead97c6bf3e/5123/451564/vm','finished','2026-11-22 14:54:06.723152','2026-11-22 14:54:06.735817','{"best":2.0}',1,'efa2c2802b8843f5b5b81954d0d63d12');
INSERT INTO "run" VALUES(4,1,2,1,'beam','{"transforms":["split"],"cache":"warm"}','{"load":"0.5"}','bd39d49c-7974-4b6b-83ad-dead97c6bf3e/5123/451564/vm','finished','2026-11-22 14:54:06.738205','2026-11-22 14:54:06.764491','{"best":2.0}',1,'2cea560000cd4d6788bb963bdc55b6bf');
INSERT INTO "run" VALUES(5,2,2,1,'beam','{"transforms":["split"],"cache":"cold"}','{"load":"0.5"}','bd39d49c-7974-4b6b-83ad-dead97c6bf3e/5123/451564/vm','finished','2026-11-22 14:54:06.776656','2026-11-22 14:54:06.784858','{"best":2.0}',1,'c3e6c54a733c4ac3bce9ee4540157ae8');
INSERT INTO "run" VALUES(6,1,3,1,'beam','{"transforms":["split"],"cache":"warm"}','{"load":"0.5"}','bd39d49c-7974-4b6b-83ad-dead97c6bf3e/5123/451564/vm','finished','2026-11-22 14:54:06.788746','2026-11-22 14:54:06.800975','{"best":2.0}',1,'e379f2c1facf42dc889ee0ab863bacfa');
INSERT INTO "run" VALUES(7,1,3,2,'mcts','{"transforms":["split"],"cache":"warm"}','{}','bd39d49c-7974-4b6b-83ad-dead97c6bf3e/5123/451564/vm','finished','2026-11-22 14:54:06.804760','2026-11-22 14:54:06.812175','{"best":2.0}',2,'b98d9ac0b0ab4e728c2f4ebe9cd259f3');
INSERT INTO "run" VALUES(8,1,4,1,'beam','{"transforms":["split"],"cache":"warm"}','{"load":"0.5"}','bd39d49c-7974-4b6b-83ad-dead97c6bf3e/5123/451564/vm','finished','2026-11-22 14:54:06.819883','2026-11-22 14:54:06.823430','{"best":2.0}',1,'5d2c97aae3b9466dad56053a027db4df');
CREATE TABLE stage_time (
	run_id INTEGER NOT NULL, 
	stage TEXT NOT NULL, 
	seconds DOUBLE NOT NULL, 
	count INTEGER NOT NULL, 
	CONSTRAINT pk_stage_time PRIMARY KEY (run_id, stage), 
	CONSTRAINT fk_stage_time_run_id FOREIGN KEY(run_id) REFERENCES run (id)
);
INSERT INTO "stage_time" VALUES(1,'expand',0.5,1);
INSERT INTO "stage_time" VALUES(3,'expand',0.5,1);
INSERT INTO "stage_time" VALUES(4,'expand',1.5,3);
INSERT INTO "stage_time" VALUES(6,'expand',0.5,1);
CREATE TABLE target (
	id INTEGER NOT NULL, 
	"key" TEXT NOT NULL, 
	description JSON NOT NULL, 
	CONSTRAINT pk_target PRIMARY KEY (id), 
	CONSTRAINT uq_target_key UNIQUE ("key")
);
INSERT INTO "target" VALUES(1,'ae2245aa254b923e30d03053705f360f','{"cpu":"zen5","features":["avx2","fma"],"isa":"avx2","vector_bits":256,"vector_registers":16,"line_bytes":64,"cache_bytes":[49152,1048576],"cores":1,"compiler":{"kind":"gcc","version":"12.2.0","path":"/usr/bin/gcc"},"flags":["-O3"],"exo_version":"1.0.0","z3_version":"4.13","threads":1,"instructions":[],"other_compilers":[{"kind":"clang","version":"19.1.7","path":"/usr/bin/clang"}],"fp":"fast"}');
INSERT INTO "target" VALUES(2,'69a185247ff21097055f8eea9e413a6f','{"cpu":"zen5","features":["avx2","fma"],"isa":"avx2","vector_bits":256,"vector_registers":16,"line_bytes":64,"cache_bytes":[49152,1048576],"cores":2,"compiler":{"kind":"gcc","version":"12.2.0","path":"/usr/bin/gcc"},"flags":["-O3"],"exo_version":"1.0.0","z3_version":"4.13","threads":1,"instructions":[],"other_compilers":[{"kind":"clang","version":"19.1.7","path":"/usr/bin/clang"}],"fp":"fast"}');
INSERT INTO "target" VALUES(3,'47d14a7651c41267ed5d2c62a9801ba2','{"cpu":"zen5","features":["avx2","fma"],"isa":"avx2","vector_bits":256,"vector_registers":16,"line_bytes":64,"cache_bytes":[49152,1048576],"cores":2,"compiler":{"kind":"gcc","version":"12.2.1","path":"/usr/bin/gcc"},"flags":["-O3"],"exo_version":"1.0.0","z3_version":"4.13","threads":1,"instructions":[],"other_compilers":[{"kind":"clang","version":"19.1.7","path":"/usr/bin/clang"}],"fp":"fast"}');
INSERT INTO "target" VALUES(4,'158f5d8cb04db14183261a3bac2b78da','{"cpu":"zen5","features":["avx2","fma"],"isa":"avx2","vector_bits":256,"vector_registers":16,"line_bytes":64,"cache_bytes":[49152,1048576],"cores":2,"compiler":{"kind":"gcc","version":"13.2.0","path":"/usr/bin/gcc-13"},"flags":["-O3"],"exo_version":"1.0.0","z3_version":"4.13","threads":1,"instructions":[],"other_compilers":[{"kind":"clang","version":"19.1.7","path":"/usr/bin/clang"}],"fp":"fast"}');
CREATE TABLE workload (
	id INTEGER NOT NULL, 
	"key" TEXT NOT NULL, 
	proc TEXT NOT NULL, 
	proc_key TEXT NOT NULL, 
	sizes JSON NOT NULL, 
	source TEXT NOT NULL, 
	source_sha TEXT NOT NULL, 
	source_text TEXT NOT NULL, specialized JSON, signature JSON, 
	CONSTRAINT pk_workload PRIMARY KEY (id), 
	CONSTRAINT uq_workload_key UNIQUE ("key")
);
INSERT INTO "workload" VALUES(1,'b8c38c6de762806d705a2ed1868c5ce6','mm','prockey','[["N",64],["M",32]]','kernels/mm.py','5ha','@proc
def mm(): ...
',NULL,NULL);
INSERT INTO "workload" VALUES(2,'164bdfab1a7bf5cf4da0ae980b751128','mv','prockey','[["N",64],["M",32]]','kernels/mm.py','5ha','@proc
def mm(): ...
',NULL,NULL);
INSERT INTO "workload" VALUES(3,'950a817a5053ad4c58603b99b15b2f30','alone','prockey','[["N",64],["M",32]]','kernels/mm.py','5ha','@proc
def mm(): ...
',NULL,NULL);
CREATE INDEX ix_measurement_candidate_id ON measurement (candidate_id);
CREATE INDEX ix_candidate_parent_id ON candidate (parent_id);
COMMIT;
