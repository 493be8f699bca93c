import { isProvidersAddress, type OpenIdOptions } from '../workflows/outgoing/open-id.ts'

const OTHERS = ['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'OIDC_CLIENT_AUTH', 'OIDC_NAME', 'OIDC_REQUIRED']
const MOST_OF_NAME = 40

/**
 * The provider of single sign-on; undefined: there is none. `text`: the value of a variable. `refuse`: throws the line for the operator.
 */
export function openIdOptions(
  text: (name: string) => string | undefined,
  allowHttp: boolean,
  refuse: (line: string) => never,
): OpenIdOptions | undefined {
  const issuer = text('OIDC_ISSUER')
  const lonely = OTHERS.find(name => text(name) !== undefined)
  if (issuer === undefined) return lonely ? refuse(`${lonely} needs OIDC_ISSUER, the address of the provider`) : undefined
  const oneOf = <T extends string>(name: string, choices: readonly [T, ...T[]]): T => {
    const given = text(name)
    const found = given === undefined ? choices[0] : choices.find(one => one === given)
    return found ?? refuse(`${name}=${given}: must be one of ${choices.join(', ')}`)
  }
  checkIssuer(issuer, allowHttp, refuse)
  if (text('PUBLIC_URL') === undefined) refuse('OIDC_ISSUER needs PUBLIC_URL: the provider leads people back to the address that it knows')
  const name = text('OIDC_NAME')?.trim() || new URL(issuer).host
  if ([...name].length > MOST_OF_NAME || /\p{C}/u.test(name))
    refuse(`OIDC_NAME must have at most ${MOST_OF_NAME} characters, all of them printable`)
  return {
    issuer,
    clientId: text('OIDC_CLIENT_ID') ?? refuse('OIDC_ISSUER needs OIDC_CLIENT_ID, the name that the provider has given this service'),
    clientSecret: text('OIDC_CLIENT_SECRET'),
    clientAuth: oneOf('OIDC_CLIENT_AUTH', ['basic', 'post']),
    name,
    isRequired: oneOf('OIDC_REQUIRED', ['false', 'true']) === 'true',
  }
}

/** It is compared with what the provider calls itself, so its end stays as it is. */
function checkIssuer(issuer: string, allowHttp: boolean, refuse: (line: string) => never): void {
  const url = URL.canParse(issuer) ? new URL(issuer) : null
  if (url === null || !['https:', 'http:'].includes(url.protocol)) refuse('OIDC_ISSUER must be an address that begins with https://')
  else if (url.search || url.hash || url.username || url.password)
    refuse('OIDC_ISSUER must be an address without query, fragment and login')
  // The library would take the document there for that of any issuer.
  else if (url.pathname.includes('/.well-known/')) refuse('OIDC_ISSUER must be the address before /.well-known/')
  else if (!isProvidersAddress(url)) refuse('OIDC_ISSUER must begin with https:// (http:// with localhost alone)')
  else if (url.protocol === 'http:' && !allowHttp) refuse('OIDC_ISSUER must begin with https:// (http:// needs ALLOW_PRIVATE_NETWORK=true)')
}
