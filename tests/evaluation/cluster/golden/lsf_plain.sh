#!/usr/bin/env bash

#BSUB -J oragent
#BSUB -e /shared/logs/oragent-1-%J.err
#BSUB -o /shared/logs/oragent-1-%J.out
#BSUB -n 1
#BSUB -M 4295
#BSUB -W 01:00

PYTHON -m oragent.evaluation.cluster.worker tls://10.0.0.1:8786 --name oragent-1 --nthreads 1 --memory-limit 4.00GiB --death-timeout 300 --tls-ca-file /shared/certificate.pem --tls-cert /shared/certificate.pem --tls-key /shared/key.pem
