#!/usr/bin/env bash

#BSUB -J oragent
#BSUB -e /shared/logs/oragent-1-%J.err
#BSUB -o /shared/logs/oragent-1-%J.out
#BSUB -q short
#BSUB -P "or-group"
#BSUB -n 16
#BSUB -R "span[hosts=1]"
#BSUB -M 68720
#BSUB -W 04:30
#BSUB --constraint=avx2
module load python/3.11
PYTHON -m oragent.evaluation.cluster.worker tls://10.0.0.1:8786 --name oragent-1 --nthreads 16 --memory-limit 64.00GiB --death-timeout 300 --tls-ca-file /shared/certificate.pem --tls-cert /shared/certificate.pem --tls-key /shared/key.pem --interface ib0
