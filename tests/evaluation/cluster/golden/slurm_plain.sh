#!/usr/bin/env bash

#SBATCH -J oragent
#SBATCH -e /shared/logs/oragent-%J.err
#SBATCH -o /shared/logs/oragent-%J.out
#SBATCH -n 1
#SBATCH --cpus-per-task=1
#SBATCH --mem=4G
#SBATCH -t 01:00:00

PYTHON -m oragent.evaluation.cluster.worker tls://10.0.0.1:8786 --name oragent-1 --nthreads 1 --memory-limit 4.00GiB --death-timeout 300 --tls-ca-file /shared/certificate.pem --tls-cert /shared/certificate.pem --tls-key /shared/key.pem
