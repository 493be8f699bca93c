import { type VendorReply, type VendorRequest, vendor } from '../vendor.ts'

/** Apple's attribution of installations: one address, to which a token is posted as text. */
export type AdServicesServer = {
  url: string
  requests: VendorRequest[]
  /** The answer to a token; 404 unless given. */
  answers: Map<string, VendorReply | Promise<VendorReply>>
  close(): Promise<void>
}

export async function adServicesServer(): Promise<AdServicesServer> {
  const answers: AdServicesServer['answers'] = new Map()
  const { url, requests, close } = await vendor(({ method, path, headers, body }) => {
    if (method !== 'POST' || path !== '/api/v1/' || headers['content-type'] !== 'text/plain') return { status: 405, body: '' }
    return answers.get(body.toString()) ?? { status: 404, body: '' }
  })
  return { url, requests, answers, close }
}
