#!/usr/bin/env bash

#SBATCH -J oragent
#SBATCH -e /shared/logs/oragent-%J.err
#SBATCH -o /shared/logs/oragent-%J.out
#SBATCH -p short
#SBATCH -A or-group
#SBATCH -n 1
#SBATCH --cpus-per-task=16
#SBATCH --mem=64G
#SBATCH -t 04:30:00
#SBATCH --constraint=avx2
module load python/3.11
PYTHON -m oragent.evaluation.cluster.worker tls://10.0.0.1:8786 --name oragent-1 --nthreads 16 --memory-limit 64.00GiB --death-timeout 300 --tls-ca-file /shared/certificate.pem --tls-cert /shared/certificate.pem --tls-key /shared/key.pem --interface ib0
