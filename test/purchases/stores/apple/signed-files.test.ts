import { readFileSync } from 'node:fs'
import { VerificationException, VerificationStatus } from '@apple/app-store-server-library'
import { expect, test } from 'vitest'
import { judgedChains } from '../../../../workflows/stores/apple/judged-chains.ts'
import { AppleSignatures } from '../../../../workflows/stores/apple/signed-data.ts'

// Files that were signed for the tests of Apple's own library, under its test root.
const bytes = (name: string) => readFileSync(new URL(`fixtures/${name}`, import.meta.url))
const jws = (name: string) => bytes(`${name}.jws`).toString().trim()
const rules = { roots: [bytes('testCA.der')], onlineChecks: false, chains: judgedChains(false), now: Date.now }
const verifier = new AppleSignatures(rules, { bundleId: 'com.example', appId: '1234', environment: 'sandbox' })

const statusOf = async (verified: Promise<unknown>) => {
  const error = await verified.then(
    () => null,
    (reason: unknown) => reason,
  )
  return error instanceof VerificationException ? error.status : error
}

test('the good ones are verified, P-256 with SHA-384 included', async () => {
  expect(await verifier.verifyAndDecodeRenewalInfo(jws('renewalInfo'))).toEqual({ environment: 'Sandbox', signedDate: 1672956154000 })
  expect(await verifier.verifyAndDecodeTransaction(jws('transactionInfo'))).toMatchObject({
    bundleId: 'com.example',
    environment: 'Sandbox',
  })
  expect(await verifier.verifyAndDecodeNotification(jws('testNotification'))).toMatchObject({ notificationType: 'TEST' })
})

test('the bad ones are refused', async () => {
  expect(await statusOf(verifier.verifyAndDecodeNotification(jws('wrongBundleId')))).toBe(VerificationStatus.INVALID_APP_IDENTIFIER)
  expect(await statusOf(verifier.verifyAndDecodeNotification(jws('missingX5CHeaderClaim')))).toBe(VerificationStatus.INVALID_CERTIFICATE)
})

test('under the shipped root none of them holds', async () => {
  const shipped = readFileSync(new URL('../../../../workflows/stores/apple/apple-root-ca-g3.cer', import.meta.url))
  const other = new AppleSignatures({ ...rules, roots: [shipped] }, { bundleId: 'com.example', appId: null, environment: 'sandbox' })
  expect(await statusOf(other.verifyAndDecodeTransaction(jws('transactionInfo')))).toBe(VerificationStatus.VERIFICATION_FAILURE)
})
