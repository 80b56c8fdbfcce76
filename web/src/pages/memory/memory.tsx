import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useDeferredValue } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { get, post } from '../../api/request.ts'
import type { MemoryHit, MemoryLine } from '../../api/wire.ts'
import { useAddress } from '../../parts/address.ts'
import { Ago } from '../../parts/ago.tsx'
import { EmptyState, Failure, Loading } from '../../parts/notice.tsx'
import { Page } from '../../parts/page.tsx'
import { rowMark, useRowKeys } from '../../parts/row-keys.ts'
import { withoutBidi } from '../../text/safe-text.ts'
import styles from './memory.module.css'
import { MemorySheet } from './memory-sheet.tsx'

const pageSize = 100

/** What is remembered: a search that says why each hit was found, and one memory with where it comes from. */
export default function Memory(): ReactNode {
  const { id } = useAddress()
  const [, navigate] = useLocation()
  const [search, setSearch] = useSearchParams()
  const question = search.get('q') ?? ''
  const memories = useMemories(useDeferredValue(question.trim()))
  const query = search.size === 0 ? '' : `?${search}`
  const close = () => navigate(`/memory${query}`)
  useRowKeys(close)
  return (
    <Page
      title="Memory"
      facts={
        <input
          type="search"
          className={styles['search']}
          aria-label="Search memories"
          placeholder="What do we know about …"
          value={question}
          onChange={({ target }) => setSearch(target.value === '' ? {} : { q: target.value }, { replace: true })}
        />
      }
      side={
        id === undefined
          ? undefined
          : { label: `memory:${id}`, content: <MemorySheet key={id} id={id} onClose={close} />, onClose: close }
      }
    >
      {memories.isPending && <Loading />}
      {memories.error && <Failure error={memories.error} onRetry={() => memories.refetch()} />}
      {memories.data?.length === 0 && (question === '' ? <NothingRemembered /> : <EmptyState title="Nothing found" />)}
      <ul>
        {memories.data?.map((memory) => (
          <li key={memory.id} className={styles['memory']} aria-current={String(memory.id) === id ? 'true' : undefined}>
            <Link href={`/memory/${memory.id}${query}`} className={styles['content']} {...rowMark}>
              {withoutBidi(memory.content)}
            </Link>
            <span className={styles['facts']}>
              <span className="mono">memory:{memory.id}</span>
              {!memory.trusted && <span className={styles['warning']}>not trusted</span>}
              {memory.tags.map((tag) => (
                <span key={tag}>#{withoutBidi(tag)}</span>
              ))}
              <Ago at={memory.createdAt} />
              {'words' in memory && <span>{reasonOf(memory)}</span>}
            </span>
          </li>
        ))}
      </ul>
    </Page>
  )
}

/** Why a memory was found. */
function reasonOf({ words, meaning }: MemoryHit): string {
  if (words.length > 0) return `shares ${words.map(withoutBidi).join(', ')}`
  return meaning === undefined ? '' : `means nearly the same (${Math.round(meaning * 100)} %)`
}

function useMemories(question: string) {
  return useQuery<(MemoryLine | MemoryHit)[]>({
    queryKey: ['memories', question],
    placeholderData: (before) => before,
    queryFn: async ({ signal }) =>
      question === ''
        ? (await get<{ memories: MemoryLine[] }>('/v1/memories', { limit: pageSize }, signal)).memories
        : (await post<{ memories: MemoryHit[] }>('/v1/memories/search', { question, limit: 30 })).memories,
  })
}

function NothingRemembered(): ReactNode {
  return (
    <EmptyState title="Nothing is remembered yet">
      <p>
        What agents find out and what you tell them to keep stands here, with where it comes from. Later requests are
        reminded of what fits.
      </p>
      <p>
        Try it: <Link href="/s/main">write</Link> “remember that the port is 8443”.
      </p>
    </EmptyState>
  )
}
