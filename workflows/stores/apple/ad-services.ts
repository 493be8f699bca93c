import type { AdServicesResult } from '../../../domain/audience/customers/ad-services.ts'
import type { Outgoing } from '../../outgoing/outgoing.ts'

/** `unknown`: Apple does not know the token yet, or does not know it any more. `later`: no answer. */
export type AdServicesAnswer = AdServicesResult | { is: 'unknown' } | { is: 'later'; why: string; afterSeconds: number | null }

export type AdServices = { exchange(token: string, signal: AbortSignal): Promise<AdServicesAnswer> }

/** Apple's service that returns the ad which led to an installation. It needs no key: the token identifies the app. */
export const adServices = ({ outgoing, url }: { outgoing: Outgoing; url: string }): AdServices => ({
  async exchange(token, signal) {
    const answer = await outgoing.request({
      method: 'POST',
      url: `${url}/api/v1/`,
      headers: { 'content-type': 'text/plain' },
      body: token,
      signal,
    })
    if (answer.is === 'error') return { is: 'later', why: answer.error, afterSeconds: null }
    switch (answer.status) {
      case 200:
        return readAnswer(answer.text) ?? { is: 'later', why: 'answer_unreadable', afterSeconds: null }
      case 400:
        return { is: 'refused' }
      case 404:
        return { is: 'unknown' }
      default:
        return { is: 'later', why: `status_${answer.status}`, afterSeconds: answer.retryAfterSeconds }
    }
  },
})

/** Apple answers builds of developers with this number in every field. */
const SAMPLE = 1_234_567_890

const idOf = (value: unknown): string | undefined => (Number.isSafeInteger(value) ? String(value) : undefined)

/** Undefined: the text is no answer of Apple. */
function readAnswer(text: string): AdServicesResult | undefined {
  const result = parsed(text)
  if (typeof result !== 'object' || result === null) return undefined
  const { attribution, campaignId, adGroupId, keywordId, adId, creativeSetId } = result as Record<string, unknown>
  if (attribution === false) return { is: 'organic' }
  if (attribution !== true) return undefined
  // The figures of Apple Ads are by keywords: `ad` is one where a keyword led to the ad, as in a search.
  const [campaign, ad_set, ad] = [idOf(campaignId), idOf(adGroupId), idOf(keywordId) ?? idOf(adId) ?? idOf(creativeSetId)]
  return {
    is: 'attributed',
    isSample: campaignId === SAMPLE,
    attribution: { media_source: 'Apple Search Ads', ...(campaign && { campaign }), ...(ad_set && { ad_set }), ...(ad && { ad }) },
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
