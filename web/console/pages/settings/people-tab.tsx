import { usePlace } from '../../data/place.ts'
import { useSession } from '../../data/session.ts'
import { Card, Pairs } from '../../parts/card.tsx'
import { Copy } from '../../parts/copy.tsx'
import { plain, t } from '../../parts/t.ts'

/** The own place in the project. No operation lists or changes the others: the command line does. */
export default function PeopleTab() {
  const { data } = useSession()
  const place = usePlace()
  const own = data?.projects.find(({ id }) => id === place?.project)
  const project = place?.project ?? 'PROJECT'
  return (
    <div className="grid half start">
      <Card title={t('You')}>
        <Pairs
          rows={[
            [t('Signed in as'), data?.operator.email],
            [t('Role in this project'), own && plain(own.role)],
            [t('Owner of the installation'), data?.operator.is_owner ? t('yes') : t('no')],
          ]}
        />
        <p className="settings-note">
          {t('A viewer reads everything but the settings; an editor writes as well; an admin also changes the settings and erases people.')}
        </p>
        <div className="people-links">
          <a className="chip" href="/console/account">
            {t('Account, password, sessions')}
          </a>
          <a className="chip" href="/console/account/assistants">
            {t('What your assistants may do')}
          </a>
        </div>
      </Card>
      <Card title={t('Others')} right={t('by the command line of the service')}>
        <p className="settings-note first">{t('Who works with the service, with roles:')}</p>
        <Copy text="npm run cli -- operator list" />
        <p className="settings-note">{t('Invite somebody to this project; the link goes by mail, or is printed:')}</p>
        <Copy text={`npm run cli -- operator invite ben@example.org --role editor --project ${project}`} />
        <p className="settings-note">{t('Another role, or none:')}</p>
        <Copy text={`npm run cli -- operator role ben@example.org admin --project ${project}`} />
        <p className="settings-note">{t('What assistants of everybody may do:')}</p>
        <Copy text="npm run cli -- mcp grants" />
      </Card>
    </div>
  )
}
