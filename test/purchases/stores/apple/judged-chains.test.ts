import { type KeyObject, X509Certificate } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { type JudgedChains, judgedChains } from '../../../../workflows/stores/apple/judged-chains.ts'
import { AppleSignatures, isUndecided, type SignatureRules } from '../../../../workflows/stores/apple/signed-data.ts'
import { verifyAppleNotification } from '../../../../workflows/stores/apple/verify.ts'
import { appleChain } from '../../../harness/stores/apple-chain.ts'
import { appleSettings, arrivalOf, NOW } from '../../../harness/stores/apple-fixture.ts'
import { appleJws, appleNotification, BUNDLE } from '../../../harness/stores/apple-jws.ts'

const chain = appleChain()
const rulesOf = (chains: JudgedChains, onlineChecks = false): SignatureRules => ({
  roots: [chain.root],
  onlineChecks,
  chains,
  now: () => NOW,
})

/** Counts how often Apple's library judges a chain. */
class Counting extends AppleSignatures {
  judged = 0
  protected override verifyCertificateChainWithoutCaching(
    ...given: Parameters<AppleSignatures['verifyCertificateChainWithoutCaching']>
  ): Promise<KeyObject> {
    this.judged += 1
    return super.verifyCertificateChainWithoutCaching(...given)
  }
}
const counting = (chains: JudgedChains) => new Counting(rulesOf(chains), { bundleId: BUNDLE, appId: null, environment: 'production' })
const signed = (i: number, by = chain) =>
  appleJws(by, { transactionId: String(i), bundleId: BUNDLE, environment: 'Production', signedDate: NOW })

test('one judgement serves many signatures, at the same moment and later', async () => {
  const verifier = counting(judgedChains(false))
  await Promise.all(Array.from({ length: 20 }, (_, i) => verifier.verifyAndDecodeTransaction(signed(i))))
  for (let i = 0; i < 5; i++) await verifier.verifyAndDecodeTransaction(signed(i))
  expect(verifier.judged).toBe(1)
})

test('a kept chain does not make a changed signature right', async () => {
  const verifier = counting(judgedChains(false))
  const right = signed(1)
  await verifier.verifyAndDecodeTransaction(right)
  const [header, , signature] = signed(2).split('.')
  await expect(verifier.verifyAndDecodeTransaction([header, right.split('.')[1], signature].join('.'))).rejects.toThrow()
  expect(verifier.judged).toBe(1)
})

test('the time of use counts for each signature of a kept chain', async () => {
  const short = appleChain({ from: new Date(NOW - 3_600_000), to: new Date(NOW) })
  const rules = { ...rulesOf(judgedChains(false)), roots: [short.root] }
  const verifier = new Counting(rules, { bundleId: BUNDLE, appId: null, environment: 'production' })
  const at = (signedDate: number) =>
    verifier.verifyAndDecodeTransaction(appleJws(short, { bundleId: BUNDLE, environment: 'Production', signedDate }))
  await at(NOW - 60_000)
  await at(NOW + 59_000)
  await expect(at(NOW + 61_000)).rejects.toThrow()
  await expect(at(NOW - 3_600_000 - 61_000)).rejects.toThrow()
  await expect(at(Number.NaN)).rejects.toThrow()
  expect(verifier.judged).toBe(1)
})

test('bad chains are not kept: each is judged again', async () => {
  const bad = appleChain({ leafMark: null })
  const rules = { ...rulesOf(judgedChains(false)), roots: [bad.root] }
  const verifier = new Counting(rules, { bundleId: BUNDLE, appId: null, environment: 'production' })
  for (let i = 0; i < 3; i++) await expect(verifier.verifyAndDecodeTransaction(signed(i, bad))).rejects.toThrow()
  expect(verifier.judged).toBe(3)
})

describe('the bounds', () => {
  const certificates = (i: number) => [{ raw: Buffer.from(`certificate ${i}`) } as X509Certificate]
  const key = new X509Certificate(chain.leaf).publicKey
  const judgement = { publicKey: key, fromMs: 0, toMs: NOW }

  /** Chains on a clock that the test moves, with a count of judgements. */
  function counted(onlineChecks = false) {
    const at = { ms: 0 }
    let judged = 0
    const chains = judgedChains(onlineChecks, () => at.ms)
    const of = (i: number) =>
      chains.of(certificates(i), async () => {
        judged += 1
        return judgement
      })
    return { at, of, judged: () => judged }
  }

  test('64 chains are kept, the oldest goes first', async () => {
    const { at, of, judged } = counted()
    for (let i = 0; i < 65; i++) await of(i)
    at.ms = 1000
    await of(64)
    await of(1)
    expect(judged()).toBe(65)
    await of(0)
    expect(judged()).toBe(66)
  })

  test('the hundred and first new chain of a second is undecided, a known one is not', async () => {
    const { at, of, judged } = counted()
    for (let i = 0; i < 100; i++) await of(i)
    const error = await of(100).catch((reason: unknown) => reason)
    expect(isUndecided(error)).toBe(true)
    await of(99)
    at.ms = 999
    await expect(of(100)).rejects.toThrow()
    at.ms = 1000
    await of(100)
    expect(judged()).toBe(101)
  })

  test('with online checks a judgement serves 15 minutes', async () => {
    const { at, of, judged } = counted(true)
    await of(1)
    at.ms = 15 * 60_000 - 1
    await of(1)
    expect(judged()).toBe(1)
    at.ms = 15 * 60_000
    await of(1)
    expect(judged()).toBe(2)
  })

  test('a notification with one new chain too many is unavailable, not refused', async () => {
    const rules = rulesOf(judgedChains(false, () => 0))
    for (let i = 0; i < 100; i++) await rules.chains.of(certificates(i), async () => judgement)
    const { body } = appleNotification(chain, { type: 'SUBSCRIBED', at: NOW })
    expect(await verifyAppleNotification(rules, arrivalOf(body), appleSettings())).toEqual({
      is: 'unavailable',
      reason: 'certificates_undecided',
    })
  })
})

test('with online checks, certificates that name no server to ask are refused', async () => {
  const rules = rulesOf(judgedChains(true), true)
  const { body } = appleNotification(chain, { type: 'SUBSCRIBED', at: NOW })
  expect(await verifyAppleNotification(rules, arrivalOf(body), appleSettings())).toEqual({ is: 'unauthorized' })
})
