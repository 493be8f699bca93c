import type { Config } from '../../app/config.ts'
import type { EnvironmentKind } from '../../domain/kernel/environment.ts'
import { missingParts, STORE_CONFIG_PARTS, type StorePlatform } from '../../domain/purchases/stores/config.ts'
import type { OpenStore } from '../../domain/purchases/stores/settings.ts'
import { UsageError } from '../failure.ts'

export const STORE_PLATFORMS = Object.keys(STORE_CONFIG_PARTS) as StorePlatform[]
export const ENVIRONMENT_KINDS: EnvironmentKind[] = ['production', 'sandbox']

export const STORE_NAME: Record<StorePlatform, string> = { apple: 'Apple', google: 'Google Play', stripe: 'Stripe', paddle: 'Paddle' }

export function platformOf(text: string | undefined): StorePlatform {
  if (text !== undefined && Object.hasOwn(STORE_CONFIG_PARTS, text)) return text as StorePlatform
  throw new UsageError(`which store? ${STORE_PLATFORMS.join(', ')}`)
}

/** What most commands about stores take. */
export const STORE_ARGUMENT = { name: 'STORE', says: STORE_PLATFORMS.join(', '), choices: STORE_PLATFORMS }
export const LINEAGE_ARGUMENT = { name: 'LINEAGE', says: 'its row number or the store\'s own name; "stores status" prints both' }

/** The address that is entered at the store, for production and sandbox alike. */
export const pushAddress = ({ publicUrl }: Pick<Config, 'publicUrl'>, platform: StorePlatform, project: number): string =>
  `${publicUrl ?? 'PUBLIC_URL'}/stores/${platform}/${project}`

/** Whether purchases can be fetched from the store, in the words of a table. */
export function connectionOf(platform: StorePlatform, store: OpenStore | null, environment: EnvironmentKind): string {
  if (store === null) return 'not set up'
  if (!store.enabled) return 'switched off'
  const missing = missingParts(platform, environment, store.value)
  return missing.length === 0 ? 'connected' : `lacks ${missing.join(', ')}`
}

const ALERTS: Record<string, string> = {
  store_credentials:
    'the store does not accept the credentials: "stores check" tells which; the alert ends with the next answer of the store',
  google_orders_forbidden:
    'in Play Console give the service account "View financial data, orders, and cancellation survey responses"; until then prices and refunds are guessed',
  push_missing: 'a sweep brought what no push had brought: enter the address at the store, see "stores check" and "stores test"',
  price_unknown: 'a purchase counts as free, because nobody has told its price: send it with the purchase, or connect the store',
  bought_by_another_account:
    'another account (named last) has bought while the first user had access, and the transfer policy keeps the purchase there: "stores transfer" gives it away',
  lineage_conflict:
    'the store calls two lineages one, but they have different owners: "stores status --lineage" shows them, "stores transfer" gives them to one user',
}

/** What an operator does about an alert; null: the docs of this version do not know it. */
export const alertHint = (alert: string): string | null => ALERTS[alert] ?? null
