/** Who the provider of single sign-on says that somebody is. */
export type ProvidedPerson = {
  issuer: string
  /** Stands for one person for ever, unlike the e-mail address. */
  subject: string
  email: string | null
  /** Whether the provider knows that the address is the person's. */
  isEmailVerified: boolean
  /** When the person last proved there who they are, in seconds; null where the provider does not say. */
  authenticatedAt: number | null
}

/** What one trip to the provider needs. `state`, `nonce` and `verifier` are random, and nobody but the service and the browser knows them. */
export type ProviderTrip = {
  redirectUri: string
  state: string
  nonce: string
  /** Of PKCE. */
  verifier: string
  /** Since then, in seconds, the person must have proved anew who they are; null: a sign-in of before is enough. */
  provedSince: number | null
}

/** `away`: the provider does not answer, or not to this service. `why` is for the log: it has no secret, and words of the provider. */
export type Away = { is: 'away'; why: string }

/** The provider at which people sign in. */
export type SignInProvider = {
  /** That of the people whom it names. */
  issuer: string
  /** As people know it. */
  name: string
  /** People sign in there and nowhere else. */
  isRequired: boolean
  /** Where the browser goes. */
  begin(trip: ProviderTrip): Promise<{ is: 'begun'; url: string } | Away>
  /** Who has come back. `query`: what the browser has brought, without the question mark. */
  finish(query: string, trip: ProviderTrip): Promise<{ is: 'person'; person: ProvidedPerson } | NotConfirmed | Away>
}

/** `isCodeWrong`: the browser has brought a code that the provider does not accept, as somebody does who guesses one. */
export type NotConfirmed = { is: 'refused'; why: string; isCodeWrong: boolean }
