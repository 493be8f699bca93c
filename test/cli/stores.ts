import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stores } from '../../cli/stores.ts'
import { APP_SECRET } from '../harness/api.ts'
import { type ReachedStores, startStores } from '../harness/stores/reached-stores.ts'
import { type CommandResult, call } from './call.ts'

/** The commands about stores, beside a service with a worker and local servers in the place of the stores. */
export type StoreCommands = {
  at: ReachedStores
  env: Record<string, string>
  run(...args: (string | number)[]): Promise<CommandResult>
  stop(): Promise<void>
}

export async function startStoreCommands(): Promise<StoreCommands> {
  const at = await startStores()
  const folder = await mkdtemp(join(tmpdir(), 'perennial-stores-'))
  const root = join(folder, 'root.der')
  await writeFile(root, at.chain.root)
  const env = {
    DATABASE_URL: at.api.databaseUrl,
    APP_SECRET,
    DATA_DIR: folder,
    PUBLIC_URL: at.api.url,
    ALLOW_PRIVATE_NETWORK: 'true',
    APPLE_ROOT_CERTIFICATES: root,
    APPLE_API_URL: at.apple.urls.production,
    APPLE_SANDBOX_API_URL: at.apple.urls.sandbox,
    GOOGLE_API_URL: at.google.url,
    GOOGLE_CERTS_URL: at.google.certsUrl,
    STRIPE_API_URL: at.stripe.url,
    PADDLE_API_URL: at.paddle.url,
    PADDLE_SANDBOX_API_URL: at.paddleSandbox.url,
  }
  return {
    at,
    env,
    run: (...args) => call(stores, args.map(String), env),
    async stop() {
      await at.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
