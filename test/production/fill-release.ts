// Started by the upgrade test as `node fill-release.ts FOLDER URL KEY DATABASE_URL`: creates one of everything that the release in the folder can
// make, by the examples of that release's own description and its own fixtures. Prints what was answered, as JSON.
import { join } from 'node:path'
import { argv, exit, stdout } from 'node:process'
import { pathToFileURL } from 'node:url'

const [folder = '', url = '', key = '', databaseUrl = ''] = argv.slice(2)
const load = (path: string) => import(pathToFileURL(join(folder, path)).href)

/** They end what others need (the key, the environment, a user), or belong to the sandbox's clock, which the test moves itself. */
const LEFT_OUT = /Regenerate|Reset|Advance|Erase|Merge/

const { operations } = await load('test/harness/described.ts')
const { operationRequests, SANDBOX_ONLY } = await load('test/harness/operation-requests.ts')
const { client } = await load('test/harness/client.ts')
const { connect } = await load('store/connect.ts')

const pool = connect({ url: databaseUrl, max: 2 })
const requests = operationRequests({ call: client(url, key), pool }, key)
// The workers of the release read the log.
requests.context.readLog = async () => {}

const made: string[] = []
const refused: Record<string, string> = {}
for (const operation of operations) {
  if (!['POST', 'PUT', 'PATCH'].includes(operation.method) || LEFT_OUT.test(operation.id) || SANDBOX_ONLY.includes(operation.id)) continue
  try {
    const answer = await requests.send(operation, await requests.example(operation))
    if (answer.status < 300) made.push(operation.id)
    else refused[operation.id] = `${answer.status} ${answer.text}`
  } catch (error) {
    refused[operation.id] = String(error)
  }
}
await pool.end()
stdout.write(JSON.stringify({ made, refused }), () => exit(0))
