import type { KeyObject, X509Certificate } from 'node:crypto'
import {
  Environment,
  type JWSRenewalInfoDecodedPayload,
  type JWSTransactionDecodedPayload,
  type ResponseBodyV2DecodedPayload,
  SignedDataVerifier,
  VerificationException,
  VerificationStatus,
} from '@apple/app-store-server-library'
import type { EnvironmentKind } from '../../../domain/kernel/environment.ts'
import type { StoreSettings } from '../store-client.ts'
import type { JudgedChain, JudgedChains } from './judged-chains.ts'

/** The difference of clocks that the library allows for certificates. */
const SKEW_MS = 60_000
const AHEAD_MS = 5 * 60_000

export const APPLE_ENVIRONMENT = { production: Environment.PRODUCTION, sandbox: Environment.SANDBOX } as const

/** `roots`: DER. `onlineChecks`: certificates are also asked about by OCSP, and must be valid now. */
export type SignatureRules = { roots: readonly Buffer[]; onlineChecks: boolean; chains: JudgedChains; now: () => number }

/** `appId` null: not stored, the bundle is the only check. */
type SignedFor = { bundleId: string; appId: string | null; environment: EnvironmentKind }

/** Rightly signed, but not for this app or environment. */
export class ForeignSignature extends VerificationException {
  readonly reason: 'bundle' | 'app' | 'environment'
  constructor(reason: ForeignSignature['reason']) {
    super(reason === 'environment' ? VerificationStatus.INVALID_ENVIRONMENT : VerificationStatus.INVALID_APP_IDENTIFIER)
    this.reason = reason
  }
}

/** Rightly signed for another app or environment. */
export const isForeign = (error: unknown): boolean =>
  error instanceof VerificationException &&
  (error.status === VerificationStatus.INVALID_APP_IDENTIFIER || error.status === VerificationStatus.INVALID_ENVIRONMENT)

export const isOfOtherEnvironment = (error: unknown): boolean =>
  error instanceof VerificationException && error.status === VerificationStatus.INVALID_ENVIRONMENT

/** No answer of an OCSP server, or too many new chains: no judgement now. */
export const isUndecided = (error: unknown): boolean =>
  error instanceof VerificationException && error.status === VerificationStatus.RETRYABLE_VERIFICATION_FAILURE

const STATUS_TEXTS: Record<VerificationStatus, string> = {
  [VerificationStatus.OK]: 'is right',
  [VerificationStatus.VERIFICATION_FAILURE]: 'has a signature that does not hold',
  [VerificationStatus.RETRYABLE_VERIFICATION_FAILURE]: 'has certificates that could not be checked',
  [VerificationStatus.INVALID_APP_IDENTIFIER]: 'is of another app',
  [VerificationStatus.INVALID_ENVIRONMENT]: 'is of another environment',
  [VerificationStatus.INVALID_CHAIN_LENGTH]: 'has no chain of three certificates',
  [VerificationStatus.INVALID_CERTIFICATE]: 'has a certificate that does not hold',
  [VerificationStatus.FAILURE]: 'has a certificate that is revoked or could not be checked',
}

/** The library's errors have no message. That of the cause is left out: it may show a part of what was signed. */
async function withMessage<Value>(signed: string, verifying: Promise<Value>): Promise<Value> {
  try {
    return await verifying
  } catch (error) {
    if (error instanceof VerificationException && error.message === '') {
      const status = [VerificationStatus[error.status], error.cause?.constructor.name].filter(word => word !== undefined).join(', ')
      error.message = `the signed ${signed} ${STATUS_TEXTS[error.status]} (${status})`
    }
    throw error
  }
}

/** Signing times have no oldest age: repeats are harmless, and history is old. */
export const isSignedInTime = (signedDate: unknown, nowMs: number): signedDate is number =>
  typeof signedDate === 'number' && Number.isFinite(signedDate) && signedDate <= nowMs + AHEAD_MS

/**
 * Apple's verifier with judgements of chains that are kept: offline, the library judges the chain again for every signature. It
 * is never made for Xcode and LocalTesting, for which the library verifies nothing.
 */
export class AppleSignatures extends SignedDataVerifier {
  readonly #chains: JudgedChains
  readonly #appId: string | null

  constructor({ roots, onlineChecks, chains }: SignatureRules, { bundleId, appId, environment }: SignedFor) {
    // The library demands an app id for production. Only `verifyNotification` would use it.
    super([...roots], onlineChecks, APPLE_ENVIRONMENT[environment], bundleId, Number(appId ?? 0))
    this.#chains = chains
    this.#appId = appId
  }

  override verifyAndDecodeNotification(signed: string): Promise<ResponseBodyV2DecodedPayload> {
    return withMessage('notification', super.verifyAndDecodeNotification(signed))
  }

  override verifyAndDecodeTransaction(signed: string): Promise<JWSTransactionDecodedPayload> {
    return withMessage('transaction', super.verifyAndDecodeTransaction(signed))
  }

  override verifyAndDecodeRenewalInfo(signed: string): Promise<JWSRenewalInfoDecodedPayload> {
    return withMessage('renewal info', super.verifyAndDecodeRenewalInfo(signed))
  }

  /** The app id counts where the project and the notification both have one, in the sandbox, too. */
  protected override verifyNotification(bundleId?: string, appAppleId?: number, environment?: string): void {
    if (bundleId !== this.bundleId) throw new ForeignSignature('bundle')
    if (this.#appId !== null && appAppleId !== undefined && String(appAppleId) !== this.#appId) throw new ForeignSignature('app')
    if (environment !== this.environment) throw new ForeignSignature('environment')
  }

  protected override async verifyCertificateChain(
    roots: X509Certificate[],
    leaf: X509Certificate,
    intermediate: X509Certificate,
    usedAt: Date,
  ): Promise<KeyObject> {
    const chain = await this.#chains.of([leaf, intermediate, ...roots], () => this.#judge(roots, leaf, intermediate))
    const at = usedAt.getTime()
    if (!(chain.fromMs - SKEW_MS <= at && at <= chain.toMs + SKEW_MS))
      throw new VerificationException(VerificationStatus.INVALID_CERTIFICATE)
    // The library exports the key to text, and jsonwebtoken reads that text again for each signature: it takes the key itself as well.
    return { export: () => chain.publicKey } as unknown as KeyObject
  }

  /** Judges everything but the time of use, which differs between the signatures of a chain. */
  async #judge(roots: X509Certificate[], leaf: X509Certificate, intermediate: X509Certificate): Promise<JudgedChain> {
    const root = roots.find(({ subject, publicKey }) => intermediate.issuer === subject && intermediate.verify(publicKey))
    if (!root) throw new VerificationException(VerificationStatus.VERIFICATION_FAILURE)
    const certificates = [leaf, intermediate, root]
    const fromMs = Math.max(...certificates.map(({ validFrom }) => Date.parse(validFrom)))
    const toMs = Math.min(...certificates.map(({ validTo }) => Date.parse(validTo)))
    const publicKey = await this.verifyCertificateChainWithoutCaching([root], leaf, intermediate, new Date(fromMs))
    return { publicKey, fromMs, toMs }
  }
}

/** Root certificates are read when a verifier is made. */
const MOST_VERIFIERS = 64
const made = new WeakMap<SignatureRules, Map<string, AppleSignatures>>()

/** `bundleId`: the project's, or the signed one where a project has none. */
export function appleSignaturesFor(
  rules: SignatureRules,
  settings: StoreSettings,
  bundleId: string,
  environment: EnvironmentKind,
): AppleSignatures {
  const verifiers = made.get(rules) ?? new Map<string, AppleSignatures>()
  made.set(rules, verifiers)
  const appId = settings.value('app_id')
  const name = JSON.stringify([bundleId, appId, environment])
  const verifier = verifiers.get(name) ?? new AppleSignatures(rules, { bundleId, appId, environment })
  // The one that was used last is kept longest.
  verifiers.delete(name)
  verifiers.set(name, verifier)
  if (verifiers.size > MOST_VERIFIERS) verifiers.delete(verifiers.keys().next().value!)
  return verifier
}
