#!/usr/bin/env bash

#PBS -N oragent
#PBS -q short
#PBS -A or-group
#PBS -l select=1:ncpus=16:mem=64GB
#PBS -l walltime=04:30:00
#PBS -e /shared/logs/
#PBS -o /shared/logs/
#PBS --constraint=avx2
module load python/3.11
PYTHON -m oragent.evaluation.cluster.worker tls://10.0.0.1:8786 --name oragent-1 --nthreads 16 --memory-limit 64.00GiB --death-timeout 300 --tls-ca-file /shared/certificate.pem --tls-cert /shared/certificate.pem --tls-key /shared/key.pem --interface ib0
