#!/usr/bin/env bash

#PBS -N oragent
#PBS -l select=1:ncpus=1:mem=4096MB
#PBS -l walltime=01:00:00
#PBS -e /shared/logs/
#PBS -o /shared/logs/

PYTHON -m oragent.evaluation.cluster.worker tls://10.0.0.1:8786 --name oragent-1 --nthreads 1 --memory-limit 4.00GiB --death-timeout 300 --tls-ca-file /shared/certificate.pem --tls-cert /shared/certificate.pem --tls-key /shared/key.pem
