-- job.GPUUse: what the driver counted of the job's GPUs; '': no node said that it had one
ALTER TABLE attempts ADD COLUMN gpus_json TEXT NOT NULL DEFAULT '';
