import type { IntegrationDeliveryDetail } from '../../../../clients/typescript/src/index.ts'
import { Pairs } from '../../parts/card.tsx'
import { Copy } from '../../parts/copy.tsx'
import { t } from '../../parts/t.ts'

/** What an attempt sends: made by the service from the event, the customer and the settings as they are now. */
export function RequestOf({ of: { request, attempts } }: { of: IntegrationDeliveryDetail }) {
  if (request === null)
    return (
      <>
        <h3 className="drawer-title">{t('Request')}</h3>
        <p className="soft delivery-note">
          {t('Nothing can be sent now: a setting or a field that the provider needs is missing, or the event is gone.')}
        </p>
      </>
    )
  const { method, address, headers, body, body_length } = request
  const last = attempts.at(-1)?.same_request
  return (
    <>
      <h3 className="drawer-title">{t('Request')}</h3>
      <p className="soft delivery-note">
        {last === true
          ? t('What the last attempt sent. Secrets and signatures are “…”.')
          : t('As it would be sent now. Secrets and signatures are “…”.')}
      </p>
      <div className="request-line">
        <code>{method}</code> <Copy text={address} />
      </div>
      <Pairs rows={Object.entries(headers).map(([name, value]) => [name, <code key={name}>{value}</code>] as const)} />
      {body === null ? (
        <p className="soft delivery-note">
          {body_length === 0 ? t('It has no body.') : t('The body is for those who may read events and customers.')}
        </p>
      ) : (
        <section className="json" aria-label={t('Body of the request')}>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with the keyboard */}
          <pre tabIndex={0}>{pretty(body)}</pre>
        </section>
      )}
      {body !== null && body_length > body.length && (
        <p className="soft delivery-note">
          {t('The first {n} of {all} characters.', { n: body.length.toLocaleString('en'), all: body_length.toLocaleString('en') })}
        </p>
      )}
    </>
  )
}

function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), undefined, 2)
  } catch {
    return body
  }
}
