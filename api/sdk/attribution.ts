import { requestAdServices } from '../../domain/audience/customers/ad-services.ts'
import { noteReportedTraits, type ReportedTraits } from '../../domain/audience/customers/app-user.ts'
import { setProperties } from '../../domain/users/properties.ts'
import { storable } from '../../schemas/formats.ts'
import { transaction } from '../../store/transaction.ts'
import { environmentsOf } from '../v3/operation.ts'
import { SdkProblem } from './errors.ts'
import { ofUser } from './operation.ts'

type Attribution = NonNullable<ReportedTraits['attribution']>
type AttributionFields = { media_source: string; campaign: string; ad_set: string; ad: string }
type ProviderData = Record<string, unknown>

/** The fields of each provider's data; the first one that is present counts. */
const FIELDS: Record<string, { [Field in keyof AttributionFields]: string[] }> = {
  appsflyer: {
    media_source: ['media_source'],
    campaign: ['campaign'],
    ad_set: ['af_adset', 'adset'],
    ad: ['af_ad', 'adgroup'],
  },
  adjust: {
    media_source: ['network', 'tracker_name', 'trackerName'],
    campaign: ['campaign'],
    ad_set: ['adgroup'],
    ad: ['creative'],
  },
  branch: {
    media_source: ['~advertising_partner_name', '~channel'],
    campaign: ['~campaign'],
    ad_set: ['~ad_set_name'],
    ad: ['~ad_name'],
  },
  apple_search_ads: {
    media_source: [],
    campaign: ['iad-campaign-name'],
    ad_set: ['iad-adgroup-name'],
    ad: ['iad-creativeset-name'],
  },
}
const APPLE = 'Apple Search Ads'

/** The property with the id of the user at the provider, and where the provider's data have it. */
const IDS: Record<string, { key: string; fields: string[] }> = {
  appsflyer: { key: '_q_appsflyer_user_id', fields: [] },
  adjust: { key: '_q_adjust_adid', fields: ['adid'] },
}

function firstText(providerData: ProviderData, names: string[]): string | undefined {
  const texts = names
    .map(name => providerData[name])
    .filter((value): value is string => typeof value === 'string' && value !== '' && storable(value))
  return texts[0]?.slice(0, 255)
}

/** Apple has its data in an object for each version. */
function appleProviderData(providerData: ProviderData): ProviderData | null {
  const inner = Object.values(providerData).find((value): value is ProviderData => typeof value === 'object' && value !== null)
  const flat = inner ?? providerData
  return String(flat['iad-attribution']) === 'true' ? flat : null
}

function attributionOf(provider: string, providerData: ProviderData): Attribution {
  const fields = FIELDS[provider]
  const data = provider === 'apple_search_ads' ? appleProviderData(providerData) : providerData
  if (!fields || !data) return {}
  const found = Object.entries(fields).flatMap(([field, names]) => {
    const text = firstText(data, names)
    return text === undefined ? [] : [[field, text]]
  })
  return { ...(provider === 'apple_search_ads' && { media_source: APPLE }), ...Object.fromEntries(found) }
}

const TOKEN = /^[A-Za-z0-9+/=_-]{1,4096}$/

/** Some devices break the lines of Base64. */
function adServicesToken({ token }: ProviderData): string {
  const text = typeof token === 'string' ? token.replace(/\s+/g, '') : ''
  if (!TOKEN.test(text)) throw new SdkProblem('malformed', 'provider_data.d.token must be 1 to 4096 characters of Base64')
  return text
}

export const sdkCreateAttribution = ofUser('sdkCreateAttribution', ({ body, user, environment, owner, inTurn, db }) =>
  inTurn(async () => {
    const { provider, d = {}, uid } = body.provider_data
    const providerData = d as ProviderData
    if (provider === 'apple_adservices_token') {
      const token = adServicesToken(providerData)
      await transaction(db, tx => requestAdServices(tx, user, environmentsOf(owner).production, token))
    }
    const attribution = attributionOf(provider, providerData)
    if (Object.keys(attribution).length > 0) await noteReportedTraits(db, user, { attribution })
    const id = IDS[provider]
    const value = id && firstText({ uid, ...providerData }, ['uid', ...id.fields])
    if (value !== undefined) await transaction(db, tx => setProperties(tx, environment, user.id, [{ key: id!.key, value }]))
    return { success: true as const, data: { client_uid: user.id, status: 'OK' as const } }
  }),
)
