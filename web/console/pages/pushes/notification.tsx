import './notification.css'
import { Fragment } from 'react'
import { Icon } from '../../parts/icon.tsx'
import { t } from '../../parts/t.ts'

type Told = { title?: string | undefined; body: string; image_url?: string | null | undefined }
type Scheme = 'light' | 'dark'

/** A notification about as phones show it, in both schemes. Placeholders stand where each person has a value; the picture is not fetched. */
export const Notifications = ({ of, app }: { of: Told; app: string }) => (
  <div className="phones">
    {(['light', 'dark'] as const).map(scheme => (
      <Phone key={scheme} scheme={scheme} of={of} app={app} />
    ))}
  </div>
)

const Phone = ({ scheme, of: { title = '', body, image_url = null }, app }: { scheme: Scheme; of: Told; app: string }) => (
  <section
    className="phone"
    data-mantine-color-scheme={scheme}
    aria-label={scheme === 'light' ? t('On a light phone') : t('On a dark phone')}
  >
    <div className="phone-note">
      <span className="phone-app" aria-hidden="true">
        <Icon name="push" size={13} />
      </span>
      <div className="phone-texts">
        <p className="phone-head">
          <bdi title={app}>{app}</bdi>
          <span>{t('now')}</span>
        </p>
        {title !== '' && (
          <p className="phone-title" dir="auto" title={title}>
            <Filled text={title} />
          </p>
        )}
        <p className="phone-body" dir="auto" title={body}>
          <Filled text={body} />
        </p>
      </div>
      {image_url !== null && (
        <span className="phone-picture" title={image_url}>
          {t('picture')}
        </span>
      )}
    </div>
  </section>
)

const PLACEHOLDER = /(\{\{\s*(?:user\.(?:id|identity_id)|event\.(?:name|product_id|property\.[^{}]+)|property\.[^{}]+)\s*\}\})/

/** A text in which placeholders stand out; other braces stay as they are, as when it is sent. */
const Filled = ({ text }: { text: string }) =>
  text.split(PLACEHOLDER).map((part, at) =>
    at % 2 === 1 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: parts have no other name
      <b key={at} className="phone-value">
        {part.slice(2, -2).trim()}
      </b>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: as above
      <Fragment key={at}>{part}</Fragment>
    ),
  )
