import bash from 'highlight.js/lib/languages/bash'
import css from 'highlight.js/lib/languages/css'
import diff from 'highlight.js/lib/languages/diff'
import json from 'highlight.js/lib/languages/json'
import markdown from 'highlight.js/lib/languages/markdown'
import python from 'highlight.js/lib/languages/python'
import sql from 'highlight.js/lib/languages/sql'
import typescript from 'highlight.js/lib/languages/typescript'
import xml from 'highlight.js/lib/languages/xml'
import yaml from 'highlight.js/lib/languages/yaml'
import { createLowlight } from 'lowlight'
import type { ReactNode } from 'react'
import './highlighted-code.css'

const lowlight = createLowlight({ bash, css, diff, json, markdown, python, sql, typescript, xml, yaml })
lowlight.registerAlias({ typescript: ['ts', 'tsx', 'js', 'jsx', 'javascript'], bash: ['sh', 'shell', 'console'] })

/** Longer code stays without colours. */
const maxLength = 20_000

/** Code in the colours of its language, if that is known. Loaded when the first code is shown. */
export default function HighlightedCode({ code, language }: { code: string; language: string }): ReactNode {
  if (code.length > maxLength || !lowlight.registered(language)) return <code>{code}</code>
  return <code>{lowlight.highlight(language, code).children.map(draw)}</code>
}

interface Piece {
  type: string
  value?: string
  properties?: { className?: unknown }
  children?: Piece[]
}

function draw(piece: Piece, at: number): ReactNode {
  if (piece.type === 'text') return piece.value
  const names = Array.isArray(piece.properties?.className) ? piece.properties.className.join(' ') : undefined
  return (
    <span key={at} className={names}>
      {piece.children?.map(draw)}
    </span>
  )
}
