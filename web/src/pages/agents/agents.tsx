import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useFolder } from '../../api/folder.ts'
import { hasRank, useMe } from '../../api/me.ts'
import { useAgents } from '../../api/queries.ts'
import { get } from '../../api/request.ts'
import type { Pins, Profile, Registry } from '../../api/wire.ts'
import { buttonLook } from '../../parts/button.tsx'
import { EmptyState, Failure, Loading } from '../../parts/notice.tsx'
import { Page, Section } from '../../parts/page.tsx'
import { rowMark, useRowKeys } from '../../parts/row-keys.ts'
import { asSentence } from '../../text/format.ts'
import { withoutBidi } from '../../text/safe-text.ts'
import styles from './agents.module.css'

/** The agents that can be given work here, their profiles, and which profile counts where. */
export default function Agents(): ReactNode {
  const folder = useFolder()
  const me = useMe()
  useRowKeys()
  const agents = useAgents()
  const registry = useQuery({
    queryKey: ['agents', 'registry'],
    queryFn: ({ signal }) => get<Registry>('/v1/agents/registry', {}, signal),
  })
  const profiles = useQuery({
    queryKey: ['agents', 'profiles'],
    enabled: hasRank(me, 'operator'),
    queryFn: ({ signal }) => get<{ profiles: Profile[] }>('/v1/profiles', {}, signal),
  })
  const entries = new Map(registry.data?.registry.agents.map((entry) => [entry.agentId.slice(1), entry]))
  const byId = new Map(profiles.data?.profiles.map((profile) => [profile.id, profile]))
  return (
    <Page
      title="Agents"
      actions={
        hasRank(me, 'operator') &&
        me.trusted && (
          <Link href="/agents/registry" className={buttonLook()}>
            Edit the registry
          </Link>
        )
      }
    >
      {agents.isPending && <Loading />}
      {agents.error && <Failure error={agents.error} onRetry={() => agents.refetch()} />}
      {agents.data?.length === 0 && (
        <EmptyState title="No agents">
          <p>Copy this into a terminal:</p>
          <pre>heddle agents new release-notes</pre>
        </EmptyState>
      )}
      <ul className={styles['agents']}>
        {agents.data?.map(({ name, description, tags }) => {
          const entry = entries.get(name)
          const profile = entry && byId.get(entry.profileId)
          return (
            <li key={name} className={styles['agent']}>
              {hasRank(me, 'admin') ? (
                <Link href={`/agents/${encodeURIComponent(name)}`} className={styles['name']} {...rowMark}>
                  @{withoutBidi(name)}
                </Link>
              ) : (
                <span className={styles['name']}>@{withoutBidi(name)}</span>
              )}
              <span>{withoutBidi(description)}</span>
              <span className={styles['facts']}>
                {profile && (
                  <span className="mono">
                    {withoutBidi(profile.id)}, version {profile.version}: {profileWords(profile)}
                  </span>
                )}
                {!entry && <span>{builtIn.has(name) ? 'built in' : 'not in the registry'}</span>}
                {tags.map((tag) => (
                  <span key={tag} className={styles['tag']}>
                    {withoutBidi(tag)}
                  </span>
                ))}
              </span>
            </li>
          )
        })}
      </ul>
      <EffectivePins folder={folder} />
    </Page>
  )
}

const builtIn = new Set(['coordinator', 'general'])

/** Of a profile itself, not what it fixes. */
const ownFields = new Set(['id', 'version', 'updatedAt', 'updatedBy'])

/** What a profile fixes, in words. */
function profileWords(profile: Profile): string {
  const fixed = Object.entries(profile).flatMap(([name, setting]) => {
    const text = JSON.stringify(setting)
    return ownFields.has(name) || text === undefined || text === '{}' || text === '[]' ? [] : [`${name} ${text}`]
  })
  return fixed.length === 0 ? 'default model and tools' : withoutBidi(fixed.join(', '))
}

/** Which profile counts in this folder, and why. */
function EffectivePins({ folder }: { folder: string }): ReactNode {
  const { data } = useQuery({
    queryKey: ['agents', 'pins', folder],
    queryFn: ({ signal }) => get<Pins>('/v1/pins', { folder }, signal),
  })
  if (!data) return null
  return (
    <Section title="Pinned in this folder">
      <p className="small">{asSentence(withoutBidi(data.why))}</p>
      {data.pins.map(({ scope, id, profileId, agentId, effective, why }) => (
        <p key={`${scope}-${id}`} className="small">
          <span className="mono">{withoutBidi(agentId ?? profileId)}</span> for {scope} {withoutBidi(id)}:{' '}
          {effective ? 'used' : 'not used'}, {withoutBidi(why)}
        </p>
      ))}
    </Section>
  )
}
