import type { ReactNode } from 'react'
import type { ChatCommand } from '../../api/wire.ts'
import styles from './composer.module.css'

interface CommandListProps {
  id: string
  commands: ChatCommand[]
  chosen: number
  onChoose(command: ChatCommand): void
}

/** Commands that begin like what is typed. */
export function CommandList({ id, commands, chosen, onChoose }: CommandListProps): ReactNode {
  return (
    <div id={id} role="listbox" aria-label="Commands" className={styles['commands']}>
      {commands.map((command, at) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: keys go to the field below, as in every combobox
        <div
          key={command.name}
          id={`${id}-${at}`}
          role="option"
          tabIndex={-1}
          aria-selected={at === chosen}
          className={styles['command']}
          // Before the field loses the focus.
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => onChoose(command)}
        >
          <code>{command.usage}</code>
          <span className="quiet small">{command.summary}</span>
        </div>
      ))}
    </div>
  )
}

/** Commands for a text that begins with a slash and is still the command's name. */
export function commandsFor(all: readonly ChatCommand[], text: string): ChatCommand[] {
  const [, typed] = /^\/([\w -]*)$/.exec(text) ?? []
  if (typed === undefined) return []
  const matches = all.filter(({ name }) => name.startsWith(typed.toLowerCase().trimEnd()))
  return matches.length === 1 && matches[0]?.name === typed ? [] : matches.slice(0, 10)
}
