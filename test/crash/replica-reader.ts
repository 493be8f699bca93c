import { withFacts } from '../../domain/analytics/figures/open-source.ts'
import { replicasOf } from '../../domain/analytics/figures/replica/replicas.ts'
import { proceedsRates } from '../../domain/events/money.ts'
import { connect } from '../../store/connect.ts'

// A process that asks its replica again and again, until it is killed. It prints a line for each answer.
const { DATABASE_URL: url = '', REPLICAS: folder = '', ENVIRONMENT } = process.env
const pool = connect({ url })
const scanning = connect({ url, scans: true })
const onError = (error: Error) => console.log(error.message)
const replicas = replicasOf({ pool: scanning, folder, memory: '384MB', from: 0, onAnswer: by => console.log(by), onError })
const access = { pool, scanning, replicas, proceedsRates: proceedsRates({}), drainMs: 60_000 }
while (true) await withFacts(access, Number(ENVIRONMENT), source => source.query({ text: 'select 1 as one' }))
