import type { UseQueryResult } from '@tanstack/react-query'
import type { Experiment, ExperimentGroup, ExperimentGroupList } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { usePlace } from '../../data/place.ts'
import { useDenied } from '../../data/session.ts'
import { Act } from '../../parts/act.tsx'
import { Card } from '../../parts/card.tsx'
import { shortId } from '../../parts/copy.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Empty } from '../../parts/empty.tsx'
import { figure } from '../../parts/format.ts'
import { PercentBar } from '../../parts/growth/percent-bar.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { StatusChip } from '../../parts/status-chip.tsx'
import { t } from '../../parts/t.ts'
import { To } from '../../parts/to.tsx'

/** What each group is served, and how large its share is. */
export function Groups({ of: { id, status }, read }: { of: Experiment; read: UseQueryResult<ExperimentGroupList, Error> }) {
  const [, set] = useAddress()
  const role = useDenied('editor', usePlace()?.project)
  const open = (at: string) => set({ at }, { push: true })
  const late = status === 'draft' ? undefined : t('groups come and go in a draft only')
  const ended = status === 'finished' ? t('a finished experiment cannot be changed') : undefined
  return (
    <Card
      title={t('Groups')}
      right={
        <>
          <ShowTheCall name="v4ListExperimentGroups" input={{ path: { experiment_id: id } }} />
          <Act denied={role ?? late} size="xs" variant="default" onClick={() => open('group.new')}>
            {t('Add a group')}
          </Act>
        </>
      }
    >
      <DataState
        of={read}
        rows={3}
        isEmpty={({ data }) => data.length === 0}
        empty={
          <Empty
            icon="versus"
            title={t('No group yet')}
            why={t('At least two are needed, one of them the control: what people are served today.')}
            action={
              <Act denied={role ?? late} size="xs" onClick={() => open('group.new')}>
                {t('Add the first group')}
              </Act>
            }
          />
        }
      >
        {({ data }) => (
          <ul className="experiment-groups-list">
            {data.map(group => (
              <li key={group.id}>
                <div>
                  <span className="growth-name">
                    <bdi>{group.name ?? shortId(group.id)}</bdi>
                    {group.is_control && <StatusChip status="control" label={t('Control')} />}
                  </span>
                  <Serves of={group} />
                </div>
                <span className="experiment-share">
                  {typeof group.share === 'number' ? <PercentBar percent={group.share} /> : <span className="faint">{t('no share')}</span>}
                  <span className="growth-below">{t('weight {weight}', { weight: figure(group.weight) })}</span>
                </span>
                <span className="experiment-acts">
                  <To
                    to="/charts/sales"
                    search={{ 'f.experiment_group_id': group.id }}
                    className="link"
                    aria-label={t('Charts of {group}', { group: group.name ?? group.id })}
                  >
                    {t('Charts')}
                  </To>
                  <Act denied={role ?? ended} size="compact-xs" variant="default" onClick={() => open(`group.${group.id}`)}>
                    {t('Edit')}
                  </Act>
                  {late === undefined && (
                    <Act denied={role} size="compact-xs" variant="default" onClick={() => open(`remove.${group.id}`)}>
                      {t('Remove')}
                    </Act>
                  )}
                </span>
              </li>
            ))}
          </ul>
        )}
      </DataState>
    </Card>
  )
}

function Serves({ of: { remote_config_uid, remote_config_name, offering_uid, offering_product_ids } }: { of: ExperimentGroup }) {
  if (remote_config_uid === null && offering_uid === null)
    return <span className="growth-below">{t('What everybody is served: no payload and no offering of its own')}</span>
  return (
    <>
      {remote_config_uid !== null && (
        <span className="growth-below">
          {t('Payload of')}{' '}
          <To to={`/configurations/${encodeURIComponent(remote_config_uid)}`} className="link">
            <bdi>{remote_config_name ?? shortId(remote_config_uid)}</bdi>
          </To>
        </span>
      )}
      {offering_uid !== null && (
        <span className="growth-below">
          {t('Offering of its own:')} <bdi>{(offering_product_ids ?? []).join(', ') || t('without products')}</bdi>
        </span>
      )}
    </>
  )
}
