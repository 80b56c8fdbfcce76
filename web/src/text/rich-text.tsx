import { type ComponentProps, lazy, memo, type ReactNode, Suspense, useMemo, useState } from 'react'
import Markdown, { type Components } from 'react-markdown'
import remarkGfm from 'remark-gfm'
import { Link } from 'wouter'
import { ErrorBoundary } from '../parts/error-boundary.tsx'
import { isTooLong, maxTextLength, splitBlocks } from './blocks.ts'
import { copyToClipboard } from './copy-to-clipboard.ts'
import { useDrawnBlocks } from './drawn-blocks.ts'
import { formatCount } from './format.ts'
import { linkReferences } from './link-references.ts'
import styles from './rich-text.module.css'
import { hostOf, withoutBidi } from './safe-text.ts'

// Without colours where they cannot be loaded, as while Heddle is down.
const HighlightedCode = lazy(() => import('./highlighted-code.tsx').catch(() => ({ default: PlainCode })))

/**
 * Markdown of a model or a file. It becomes elements of this page and never HTML: nothing in it runs, loads or links
 * without showing where to. If a text cannot be drawn, it is shown as it is.
 */
export function RichText({ text, isGrowing = false }: { text: string; isGrowing?: boolean }): ReactNode {
  const [isWhole, setWhole] = useState(false)
  const { shown, rest, blocks } = useMemo(() => {
    const clean = withoutBidi(text)
    const shown = clean.slice(0, maxTextLength)
    return { shown, rest: clean.slice(shown.length), blocks: splitBlocks(shown) }
  }, [text])
  const drawn = useDrawnBlocks(blocks)
  return (
    <div className={styles['text']}>
      <ErrorBoundary resetKey={text} fallback={() => <pre className={styles['plain']}>{shown}</pre>}>
        {blocks.slice(0, drawn).map((block, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a growing text only adds blocks at its end
          <Block key={at} text={block} isFinished={!isGrowing || at < blocks.length - 1} />
        ))}
      </ErrorBoundary>
      {rest !== '' && !isWhole && (
        <button type="button" className={styles['rest']} onClick={() => setWhole(true)}>
          Show the rest ({formatCount(Math.ceil(rest.length / 1024))} kB)
        </button>
      )}
      {rest !== '' && isWhole && <pre className={styles['plain']}>{rest}</pre>}
    </div>
  )
}

const plugins = { remark: [remarkGfm], rehype: [linkReferences] }

const Block = memo(function Block({ text, isFinished }: { text: string; isFinished: boolean }) {
  if (isTooLong(text)) return <pre className={styles['plain']}>{text}</pre>
  return (
    <Markdown
      remarkPlugins={plugins.remark}
      rehypePlugins={plugins.rehype}
      components={isFinished ? finishedParts : growingParts}
      urlTransform={(address) => address}
    >
      {text}
    </Markdown>
  )
})

/** Elements that texts may have; headings begin below those of the page. */
const growingParts: Components = {
  h1: ({ children }) => <h3 className={styles['h1']}>{children}</h3>,
  h2: ({ children }) => <h3 className={styles['h2']}>{children}</h3>,
  h3: ({ children }) => <h4>{children}</h4>,
  h4: ({ children }) => <h4>{children}</h4>,
  h5: ({ children }) => <h4>{children}</h4>,
  h6: ({ children }) => <h4>{children}</h4>,
  a: TextLink,
  img: ({ alt }) => <span className={styles['refused']}>[image{alt ? `: ${alt}` : ''}]</span>,
  input: ({ checked }) => <span>{checked ? '☑ ' : '☐ '}</span>,
  table: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: wide tables scroll, also by keyboard
    <section className={styles['wide']} tabIndex={0} aria-label="Table">
      <table>{children}</table>
    </section>
  ),
  pre: ({ children }) => <>{children}</>,
  code: ({ children, className }) =>
    isBlock(className, children) ? <CodeBlock text={String(children)} /> : <code>{children}</code>,
}

const finishedParts: Components = {
  ...growingParts,
  code: ({ children, className }) =>
    isBlock(className, children) ? (
      <CodeBlock text={String(children)} language={/language-([\w+-]+)/.exec(className ?? '')?.[1]} />
    ) : (
      <code>{children}</code>
    ),
}

function isBlock(className: string | undefined, children: ReactNode): boolean {
  return className?.startsWith('language-') === true || String(children).endsWith('\n')
}

/** Links made by this page lead into it; others show their host, and only web addresses can be followed. */
function TextLink({ href, children, node }: ComponentProps<'a'> & { node?: unknown }): ReactNode {
  if (isReferenceNode(node) && href !== undefined) return <Link href={href}>{children}</Link>
  const host = hostOf(href)
  if (host === undefined || href === undefined) return <span className={styles['refused']}>{children}</span>
  return (
    <a href={withoutBidi(href)} target="_blank" rel="noopener noreferrer nofollow">
      {children} <span className={styles['host']}>↗{host}</span>
    </a>
  )
}

function isReferenceNode(node: unknown): boolean {
  return (node as { properties?: { dataReference?: unknown } } | undefined)?.properties?.dataReference === true
}

/** Code with a button that copies it. It is coloured once it is finished. */
function CodeBlock({ text, language }: { text: string; language?: string | undefined }): ReactNode {
  const code = text.replace(/\n$/, '')
  const plain = <PlainCode code={code} />
  return (
    <div className={styles['code']}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long lines scroll, also by keyboard */}
      <pre tabIndex={0}>
        {language === undefined ? (
          plain
        ) : (
          <Suspense fallback={plain}>
            <HighlightedCode code={code} language={language} />
          </Suspense>
        )}
      </pre>
      <CopyButton text={code} />
    </div>
  )
}

function PlainCode({ code }: { code: string }): ReactNode {
  return <code>{code}</code>
}

function CopyButton({ text }: { text: string }): ReactNode {
  const [isCopied, setCopied] = useState(false)
  const copy = () => void copyToClipboard(text).then(setCopied)
  return (
    <button type="button" className={styles['copy']} onClick={copy} onBlur={() => setCopied(false)}>
      {isCopied ? 'Copied' : 'Copy'}
    </button>
  )
}
