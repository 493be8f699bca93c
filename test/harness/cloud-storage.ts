import { GOOGLE_UNAUTHENTICATED, googleAccount, googleTokenEndpoint } from './google.ts'
import { type Vendor, type VendorReply, type VendorRequest, vendor } from './vendor.ts'

const SCOPE = 'https://www.googleapis.com/auth/devstorage.read_write'
const QUARTER_MB = 256 * 1024

type Session = { name: string; contentType: string; bytes: Buffer }
export type StoredObject = { contentType: string; content: Buffer }

export type CloudStorage = {
  vendor: Vendor
  account: ReturnType<typeof googleAccount>
  tokens: ReturnType<typeof googleTokenEndpoint>
  objects: Map<string, StoredObject>
  /** `reply`: a response in place of the storage's own. `keepsOnly`: how many bytes of the next slice are stored. */
  next: { reply: (request: VendorRequest) => VendorReply | undefined; keepsOnly: number | undefined }
}

const error = (status: number, message: string): VendorReply => ({ status, body: { error: { code: status, message } } })

/** Google Cloud Storage: its JSON API for uploads, with one bucket, `reports`. */
export async function cloudStorage(): Promise<CloudStorage> {
  const account = googleAccount(() => `${storage.vendor.url}/token`)
  const tokens = googleTokenEndpoint(account.publicKey, () => `${storage.vendor.url}/token`, SCOPE)
  const sessions = new Map<string, Session>()
  const objects = new Map<string, StoredObject>()
  const stored = (name: string): VendorReply => ({ status: 200, body: { kind: 'storage#object', name } })

  /** One slice of an upload: `bytes from-to/total`; the total is * until the last slice. */
  function slice(session: Session, { headers, body }: VendorRequest): VendorReply {
    const [, from, to, total] = /^bytes (?:(\d+)-(\d+)|\*)\/(\d+|\*)$/.exec(headers['content-range'] ?? '') ?? []
    if (total === undefined || Number(headers['content-length']) !== body.length) return error(400, 'bad range')
    if (from !== undefined && (Number(from) !== session.bytes.length || Number(to) - Number(from) + 1 !== body.length))
      return error(503, `not at ${from}`)
    if (total === '*' && body.length % QUARTER_MB !== 0) return error(400, 'not a multiple of 256 KiB')
    const taken = storage.next.keepsOnly ?? body.length
    storage.next.keepsOnly = undefined
    session.bytes = Buffer.concat([session.bytes, body.subarray(0, taken)])
    if (total === '*' || session.bytes.length < Number(total))
      return { status: 308, headers: session.bytes.length > 0 ? { range: `bytes=0-${session.bytes.length - 1}` } : {} }
    objects.set(session.name, { contentType: session.contentType, content: session.bytes })
    return stored(session.name)
  }

  function reply(request: VendorRequest): VendorReply {
    const { method, path, query, headers, body } = request
    if (path === '/token') return tokens.answer(request)
    const instead = storage.next.reply(request)
    if (instead) return instead
    const session = sessions.get(path)
    if (session && method === 'PUT') return slice(session, request)
    if (!tokens.isKnown(request)) return GOOGLE_UNAUTHENTICATED
    const name = query.get('name') ?? ''
    const uploads = /^\/upload\/storage\/v1\/b\/([^/]+)\/o$/.exec(path)
    if (uploads && uploads[1] !== 'reports') return error(404, 'The specified bucket does not exist.')
    if (uploads && method === 'POST' && query.get('uploadType') === 'media') {
      objects.set(name, { contentType: headers['content-type'] ?? '', content: body })
      return stored(name)
    }
    if (uploads && method === 'POST' && query.get('uploadType') === 'resumable') {
      const location = `/session/${sessions.size + 1}`
      sessions.set(location, { name, contentType: String(headers['x-upload-content-type']), bytes: Buffer.alloc(0) })
      return { status: 200, headers: { location: `${storage.vendor.url}${location}` } }
    }
    const [, removed] = /^\/storage\/v1\/b\/reports\/o\/([^/]+)$/.exec(path) ?? []
    if (method === 'DELETE' && removed && objects.delete(decodeURIComponent(removed))) return { status: 204 }
    return error(404, 'Not Found')
  }

  const storage: CloudStorage = {
    vendor: undefined as unknown as Vendor,
    account,
    tokens,
    objects,
    next: { reply: () => undefined, keepsOnly: undefined },
  }
  storage.vendor = await vendor(reply)
  return storage
}
