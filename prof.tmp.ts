import { startEmbedded } from './store/embedded/start.ts'
import { asSuperuser, TEST_GRANTS } from './test/harness/superuser.ts'
import { writeFileSync } from 'node:fs'
import { mkdirSync, rmSync } from 'node:fs'
rmSync('/tmp/prof/server', { recursive: true, force: true })
mkdirSync('/tmp/prof/server', { recursive: true })
const log = (m: string) => console.error(m)
let server = await startEmbedded({ dataDir: '/tmp/prof/server', log })
await asSuperuser('/tmp/prof/server', server.url, [...(Array.isArray(TEST_GRANTS) ? TEST_GRANTS : [TEST_GRANTS]), `alter system set shared_preload_libraries = 'pg_stat_statements'`, `alter system set pg_stat_statements.track = 'all'`, `alter system set pg_stat_statements.max = 10000`, `alter system set track_functions='all'`] as never)
await server.stop()
server = await startEmbedded({ dataDir: '/tmp/prof/server', log })
await asSuperuser('/tmp/prof/server', server.url, ['create extension pg_stat_statements', `grant pg_read_all_stats to public`] as never).catch(e => console.error(String(e)))
writeFileSync('/tmp/prof/url', server.url)
console.error(server.url)
setInterval(() => {}, 1e6)
