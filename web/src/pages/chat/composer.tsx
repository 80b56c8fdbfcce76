import { type KeyboardEvent, type ReactNode, useId, useRef, useState } from 'react'
import { useFolder } from '../../api/folder.ts'
import { useChatCommands } from '../../api/queries.ts'
import type { ChatCommand } from '../../api/wire.ts'
import { Button } from '../../parts/button.tsx'
import { Failure } from '../../parts/notice.tsx'
import { CommandList, commandsFor } from './command-list.tsx'
import styles from './composer.module.css'
import { useDraft } from './draft.ts'
import type { InputKind } from './send.ts'

interface ComposerProps {
  session: string
  /** A run is under way: an input can reach it, or wait. */
  isBusy: boolean
  /** Resolves when the text was accepted; the draft is kept if it throws. */
  onSend(content: string, kind: InputKind): Promise<void>
  onCommand(line: string): Promise<void>
}

/** The box to write in. Enter sends; a line that begins with a slash is a command. */
export function Composer({ session, isBusy, onSend, onCommand }: ComposerProps): ReactNode {
  const folder = useFolder()
  const [draft, setDraft] = useDraft(folder, session)
  const [kind, setKind] = useState<InputKind>('message')
  const [isSending, setSending] = useState(false)
  const [error, setError] = useState<unknown>()
  const box = useRef<HTMLTextAreaElement>(null)
  const completion = useCompletion(draft, (text) => {
    setDraft(text)
    box.current?.focus()
  })

  const send = async () => {
    const text = draft.trim()
    if (text === '' || isSending) return
    setSending(true)
    setError(undefined)
    try {
      if (text.startsWith('/')) await onCommand(text)
      else await onSend(text, isBusy ? kind : 'message')
      setDraft('')
      setKind('message')
    } catch (refused) {
      setError(refused)
    } finally {
      setSending(false)
      box.current?.focus()
    }
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing || completion.onKeyDown(event)) return
    // On a screen that is touched, Enter begins a new line.
    const isTouch = window.matchMedia('(pointer: coarse)').matches
    if (event.key !== 'Enter' || event.shiftKey || isTouch) return
    event.preventDefault()
    void send()
  }
  return (
    <form
      className={styles['composer']}
      onSubmit={(event) => {
        event.preventDefault()
        void send()
      }}
    >
      {error !== undefined && <Failure error={error} />}
      {completion.list}
      <div className={styles['line']}>
        <textarea
          ref={box}
          id="message"
          className={styles['box']}
          rows={2}
          aria-label="Message"
          aria-describedby="message-hint"
          placeholder="Write a message, or / for commands"
          value={draft}
          onChange={({ target }) => setDraft(target.value)}
          onKeyDown={onKeyDown}
          {...completion.attributes}
        />
        <Button isSubmit look="main" disabled={isSending || draft.trim() === ''}>
          Send
        </Button>
      </div>
      <div className={styles['hint']} id="message-hint">
        {isBusy ? (
          <KindChoice kind={kind} onChange={setKind} />
        ) : (
          <span>Enter sends, Shift Enter begins a new line</span>
        )}
      </div>
    </form>
  )
}

const kinds: Record<InputKind, string> = {
  message: 'After this answer: it is answered next',
  steer: 'Steer: reaches the running answer at its next step',
  interrupt: 'Interrupt: stops the running answer and is answered instead',
}

function KindChoice({ kind, onChange }: { kind: InputKind; onChange(kind: InputKind): void }): ReactNode {
  return (
    <label>
      <span className="visually-hidden">When it is read</span>
      <select value={kind} onChange={({ target }) => onChange(target.value as InputKind)}>
        {Object.entries(kinds).map(([name, words]) => (
          <option key={name} value={name}>
            {words}
          </option>
        ))}
      </select>
    </label>
  )
}

/** Completes the names of commands. */
function useCompletion(draft: string, onComplete: (text: string) => void) {
  const id = useId()
  const { data: all = [] } = useChatCommands()
  const [at, setAt] = useState(0)
  const [closedFor, setClosedFor] = useState<string>()
  const commands = closedFor === draft ? [] : commandsFor(all, draft)
  const chosen = Math.min(at, commands.length - 1)
  const complete = ({ name }: ChatCommand) => onComplete(`/${name} `)
  const onKeyDown = (event: KeyboardEvent): boolean => {
    const command = commands[chosen]
    if (!command) return false
    if (event.key === 'ArrowDown') setAt((chosen + 1) % commands.length)
    else if (event.key === 'ArrowUp') setAt((chosen + commands.length - 1) % commands.length)
    else if (event.key === 'Tab') complete(command)
    else if (event.key === 'Escape') setClosedFor(draft)
    else return false
    event.preventDefault()
    return true
  }
  const isOpen = commands.length > 0
  return {
    onKeyDown,
    list: isOpen && <CommandList id={id} commands={commands} chosen={chosen} onChoose={complete} />,
    attributes: isOpen
      ? ({
          role: 'combobox',
          'aria-expanded': true,
          'aria-controls': id,
          'aria-activedescendant': `${id}-${chosen}`,
        } as const)
      : {},
  }
}
