import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useLocation } from 'wouter'
import { useFolderChoice } from '../api/folder.ts'
import { get } from '../api/request.ts'
import type { Session } from '../api/wire.ts'
import { Menu } from '../parts/menu.tsx'
import { shortPath } from '../text/format.ts'
import { withoutBidi } from '../text/safe-text.ts'
import styles from './shell.module.css'

const maxShown = 12

/** The folder that this tab shows; opens the list of folders that have sessions. */
export function FolderMenu(): ReactNode {
  const { folder, choose } = useFolderChoice()
  const [, navigate] = useLocation()
  const { data = [] } = useQuery({
    queryKey: ['sessions', 'folders'],
    queryFn: async ({ signal }) =>
      (await get<{ sessions: Session[] }>('/v1/sessions', { kind: 'person', limit: 500 }, signal)).sessions,
  })
  const folders = [...new Set([folder, ...data.map((session) => session.folder)])].slice(0, maxShown)
  return (
    <Menu
      label={`Folder ${withoutBidi(folder)}: choose another`}
      text={
        <span className={styles['folder']}>
          <bdi>{withoutBidi(shortPath(folder))}</bdi>
        </span>
      }
      items={folders.map((each) => ({
        label: withoutBidi(shortPath(each)),
        isDisabled: each === folder,
        onSelect: () => {
          choose(each)
          navigate('/')
        },
      }))}
    />
  )
}
