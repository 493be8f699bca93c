import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { der, objectId, sequence, utcTime } from './der.ts'

const SHA384_WITH_ECDSA = sequence(objectId('1.2.840.10045.4.3.3'))
const LEAF_MARK = '1.2.840.113635.100.6.11.1'
const INTERMEDIATE_MARK = '1.2.840.113635.100.6.2.1'
const BASIC_CONSTRAINTS = '2.5.29.19'

export type Keys = { privateKey: KeyObject; publicKey: KeyObject }
export const ecKeys = (namedCurve: 'P-256' | 'P-384'): Keys => generateKeyPairSync('ec', { namedCurve })

const nameOf = (text: string) => sequence(der(0x31, sequence(objectId('2.5.4.3'), der(0x0c, Buffer.from(text)))))
const extension = (id: string, value: Buffer) => sequence(objectId(id), der(0x04, value))
const MARK = der(0x05)
const IS_CA = sequence(der(0x01, Buffer.from([0xff])))

type Subject = { name: string; keys: Keys; from: Date; to: Date; isCa: boolean; mark: string | null }
type Issuer = { name: string; keys: Keys }

/** DER wants the shortest form of a number: no leading zero, and none that looks negative. */
const serialNumber = () => der(0x02, Buffer.from([0x40]), randomBytes(7))

function certificate({ name, keys, from, to, isCa, mark }: Subject, issuer: Issuer): Buffer {
  const extensions = [extension(BASIC_CONSTRAINTS, isCa ? IS_CA : sequence()), ...(mark === null ? [] : [extension(mark, MARK)])]
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    serialNumber(),
    SHA384_WITH_ECDSA,
    nameOf(issuer.name),
    sequence(utcTime(from), utcTime(to)),
    nameOf(name),
    keys.publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  )
  return sequence(body, SHA384_WITH_ECDSA, der(0x03, Buffer.from([0]), sign('sha384', body, issuer.keys.privateKey)))
}

/** A chain in the shape of Apple's: root and intermediate P-384, leaf P-256, all signed with SHA-384. Certificates in DER. */
export type AppleChain = { root: Buffer; intermediate: Buffer; leaf: Buffer; leafKeys: Keys }

/** What differs from a right chain. `from`, `to`: validity of the leaf. */
export type ChainFaults = { leafMark?: string | null; intermediateMark?: string | null; from?: Date; to?: Date; intermediateIsCa?: boolean }

const BEGIN = new Date('2020-01-01T00:00:00Z')
const END = new Date('2045-01-01T00:00:00Z')

export function appleChain({
  leafMark = LEAF_MARK,
  intermediateMark = INTERMEDIATE_MARK,
  from = BEGIN,
  to = END,
  intermediateIsCa = true,
}: ChainFaults = {}): AppleChain {
  const always = { from: BEGIN, to: END }
  const root = { name: 'Test Root CA', keys: ecKeys('P-384') }
  const middle = { name: 'Test Intermediate CA', keys: ecKeys('P-384') }
  const leafKeys = ecKeys('P-256')
  return {
    root: certificate({ ...root, ...always, isCa: true, mark: null }, root),
    intermediate: certificate({ ...middle, ...always, isCa: intermediateIsCa, mark: intermediateMark }, root),
    leaf: certificate({ name: 'Test App Store Signing', keys: leafKeys, from, to, isCa: false, mark: leafMark }, middle),
    leafKeys,
  }
}
