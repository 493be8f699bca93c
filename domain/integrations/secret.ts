import type { Environment } from '../environment.ts'
import type { Secrets } from '../projects/seal.ts'

export type Sealing = { secrets: Secrets; environment: Environment; integration: string }

/** What binds a sealed secret to its place. */
const aboutOf = ({ environment, integration }: Sealing, name: string) => `integration:${environment}:${integration}:${name}`

export const sealSecret = (place: Sealing, name: string, plain: string): string =>
  place.secrets.seal(plain, aboutOf(place, name)).toString('base64')

export const openSecret = (place: Sealing, name: string, sealed: string): string =>
  place.secrets.open(Buffer.from(sealed, 'base64'), aboutOf(place, name))
