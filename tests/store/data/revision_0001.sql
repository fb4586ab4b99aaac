-- A store as the first revision wrote it. Never regenerate: old stores do not change either.
PRAGMA application_id = 1935894628;
PRAGMA journal_mode = WAL;
BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0001');
CREATE TABLE candidate (
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
	CONSTRAINT pk_candidate PRIMARY KEY (id), 
	CONSTRAINT ck_candidate_root CHECK ((parent_id IS NULL) = (rewrite IS NULL)), 
	CONSTRAINT fk_candidate_duplicate_of FOREIGN KEY(duplicate_of) REFERENCES candidate (id) DEFERRABLE INITIALLY DEFERRED, 
	CONSTRAINT fk_candidate_parent_id FOREIGN KEY(parent_id) REFERENCES candidate (id), 
	CONSTRAINT fk_candidate_run_id FOREIGN KEY(run_id) REFERENCES run (id), 
	CONSTRAINT fk_candidate_target_id FOREIGN KEY(target_id) REFERENCES target (id), 
	CONSTRAINT fk_candidate_workload_id FOREIGN KEY(workload_id) REFERENCES workload (id), 
	CONSTRAINT uq_candidate_workload_id_target_id_trace_key UNIQUE (workload_id, target_id, trace_key)
);
INSERT INTO "candidate" VALUES(1,1,1,NULL,1,NULL,'4f53cda18c2baa0c0354bb5f9a3ecbe5',0,NULL,'',NULL,NULL,NULL,NULL,NULL,'{}','2026-11-21 07:54:45.967458');
INSERT INTO "candidate" VALUES(2,1,1,1,1,'{"transform":"split","version":1,"path":"0.0","label":"for i in seq(0, 8)","args":{"factor":0}}','f66419f6f5d81c69753f81798e3fb178',1,'correct','','a','c0de',NULL,NULL,NULL,'{}',NULL);
INSERT INTO "candidate" VALUES(3,1,1,1,1,'{"transform":"split","version":1,"path":"0.1","label":"for i in seq(0, 8)","args":{"factor":1}}','907a185d40b40db21252cb925c90f28c',1,'duplicate','','a',NULL,NULL,2,'ast','{}',NULL);
INSERT INTO "candidate" VALUES(4,1,1,1,1,'{"transform":"split","version":1,"path":"0.2","label":"for i in seq(0, 8)","args":{"factor":2}}','e343b59c65577d0c06aeca3a15b101ba',1,'illegal','loop carries a dependence',NULL,NULL,NULL,NULL,NULL,'{}',NULL);
CREATE TABLE code (
	code_key TEXT NOT NULL, 
	proc TEXT NOT NULL, 
	header TEXT NOT NULL, 
	source TEXT NOT NULL, 
	CONSTRAINT pk_code PRIMARY KEY (code_key)
);
INSERT INTO "code" VALUES('c0de','mm','void mm(float *);','void mm(float *x) { *x = 0; }');
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
INSERT INTO "measurement" VALUES(1,2,1,'screen','{"kind":"screen","rounds":[[[100.0,110.0],[200.0,900.0]]],"calls":7,"host":{"load":"0.1"},"reference":"","reference_speedup":1.0}',2.0,2.0,2.0,100.0,'2026-11-21 07:54:45.981781');
CREATE TABLE run (
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
	CONSTRAINT pk_run PRIMARY KEY (id), 
	CONSTRAINT fk_run_target_id FOREIGN KEY(target_id) REFERENCES target (id), 
	CONSTRAINT fk_run_workload_id FOREIGN KEY(workload_id) REFERENCES workload (id)
);
INSERT INTO "run" VALUES(1,1,1,1,'beam','{"n":4}','{}','00000000-0000-0000-0000-000000000000/1/1','finished','2026-11-21 07:54:45.961975','2026-11-21 07:54:45.983382','{"best":2.0}');
CREATE TABLE stage_time (
	run_id INTEGER NOT NULL, 
	stage TEXT NOT NULL, 
	seconds DOUBLE NOT NULL, 
	count INTEGER NOT NULL, 
	CONSTRAINT pk_stage_time PRIMARY KEY (run_id, stage), 
	CONSTRAINT fk_stage_time_run_id FOREIGN KEY(run_id) REFERENCES run (id)
);
INSERT INTO "stage_time" VALUES(1,'expand',0.5,1);
CREATE TABLE target (
	id INTEGER NOT NULL, 
	"key" TEXT NOT NULL, 
	description JSON NOT NULL, 
	CONSTRAINT pk_target PRIMARY KEY (id), 
	CONSTRAINT uq_target_key UNIQUE ("key")
);
INSERT INTO "target" VALUES(1,'4895176e4fd7fcaaf3c10c53f2690e38','{"cpu":"zen5","features":["avx2","fma"],"vector_bits":256,"line_bytes":64,"cache_bytes":[49152,1048576],"cores":2,"compiler":{"kind":"gcc","version":"12.2.0","path":"/usr/bin/gcc"},"flags":["-O3"],"exo_version":"1.0.0","z3_version":"4.13","threads":1}');
CREATE TABLE workload (
	id INTEGER NOT NULL, 
	"key" TEXT NOT NULL, 
	proc TEXT NOT NULL, 
	proc_key TEXT NOT NULL, 
	sizes JSON NOT NULL, 
	source TEXT NOT NULL, 
	source_sha TEXT NOT NULL, 
	source_text TEXT NOT NULL, 
	CONSTRAINT pk_workload PRIMARY KEY (id), 
	CONSTRAINT uq_workload_key UNIQUE ("key")
);
INSERT INTO "workload" VALUES(1,'b8c38c6de762806d705a2ed1868c5ce6','mm','prockey','[["N",64],["M",32]]','kernels/mm.py','5ha','@proc
def mm(): ...
');
CREATE INDEX ix_candidate_parent_id ON candidate (parent_id);
CREATE INDEX ix_measurement_candidate_id ON measurement (candidate_id);
COMMIT;
