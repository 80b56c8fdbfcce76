import type { Schema } from '@cfworker/json-schema'
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { json } from '@codemirror/lang-json'
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { linter, lintGutter } from '@codemirror/lint'
import { unifiedMergeView } from '@codemirror/merge'
import { EditorState, type Extension } from '@codemirror/state'
import { EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { type ReactNode, useEffect, useRef } from 'react'
import styles from './json-editor.module.css'
import { jsonFindings } from './json-findings.ts'

interface JsonEditorProps {
  label: string
  text: string
  schema: Schema
  /** Called with the text and the number of findings. */
  onChange(text: string, findings: number): void
}

/** A text editor for JSON that marks what is wrong while it is typed. Escape, then Tab leaves it. */
export function JsonEditor({ label, text, schema, onChange }: JsonEditorProps): ReactNode {
  const change = useRef(onChange)
  change.current = onChange
  return (
    <EditorFrame
      label={label}
      text={text}
      extensions={() => [
        lineNumbers(),
        history(),
        bracketMatching(),
        highlightActiveLine(),
        lintGutter(),
        linter(
          ({ state }) => {
            const findings = jsonFindings(state, schema)
            change.current(state.doc.toString(), findings.length)
            return findings
          },
          { delay: 150 },
        ),
        keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
        EditorView.updateListener.of(({ docChanged, state }) => {
          if (docChanged) change.current(state.doc.toString(), -1)
        }),
      ]}
    />
  )
}

/** A changed text with what was there before, line by line. */
export function JsonChanges({ label, before, after }: { label: string; before: string; after: string }): ReactNode {
  return (
    <EditorFrame
      key={`${before}\n${after}`}
      label={label}
      text={after}
      extensions={() => [
        lineNumbers(),
        unifiedMergeView({ original: before, mergeControls: false, collapseUnchanged: { margin: 3, minSize: 6 } }),
        EditorState.readOnly.of(true),
        EditorView.editable.of(false),
      ]}
    />
  )
}

/** The editor's styles go to a shadow root: the content policy allows no style elements in the page. */
function EditorFrame({
  label,
  text,
  extensions,
}: {
  label: string
  text: string
  extensions(): Extension[]
}): ReactNode {
  const host = useRef<HTMLDivElement>(null)
  const first = useRef({ text, extensions })
  useEffect(() => {
    if (!host.current) return
    const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: 'open' })
    const view = new EditorView({
      parent: root,
      root,
      state: EditorState.create({
        doc: first.current.text,
        extensions: [
          json(),
          syntaxHighlighting(colors),
          theme,
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ 'aria-label': label }),
          ...first.current.extensions(),
        ],
      }),
    })
    return () => view.destroy()
  }, [label])
  return <div ref={host} className={styles['editor']} />
}

const colors = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--blue)' },
  { tag: tags.string, color: 'var(--green)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--yellow)' },
])

const wave = (color: string) => ({ backgroundImage: 'none', textDecoration: `underline wavy ${color}` })

const theme = EditorView.theme({
  '&': { fontSize: '13px', backgroundColor: 'var(--surface)', color: 'var(--text)' },
  '&.cm-focused': { outline: '2px solid var(--blue)' },
  '.cm-content, .cm-gutters': { fontFamily: 'var(--mono)' },
  '.cm-content': { caretColor: 'var(--text)', paddingBlock: '8px' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--sunken)', color: 'var(--text-3)', border: '0' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'color-mix(in srgb, var(--sunken) 60%, transparent)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--blue-wash)',
  },
  '.cm-tooltip': { backgroundColor: 'var(--surface)', border: '1px solid var(--line-strong)', color: 'var(--text)' },
  // The usual signs are images with data: addresses, which the content policy refuses.
  '.cm-lintRange-error': wave('var(--red)'),
  '.cm-lintRange-warning': wave('var(--yellow)'),
  '.cm-lint-marker-error': { content: 'none' },
  '.cm-lint-marker-error::before': { content: '"✕"', color: 'var(--red)', fontSize: '12px' },
  '.cm-insertedLine, .cm-changedLine': { backgroundColor: 'var(--green-wash) !important' },
  '.cm-deletedChunk': { backgroundColor: 'var(--red-wash) !important' },
  '.cm-changedText, .cm-deletedText': { background: 'none !important', textDecoration: 'underline' },
  '.cm-changeGutter': { width: '3px' },
  '.cm-collapsedLines': { background: 'var(--sunken)', color: 'var(--text-2)' },
})
