import { type KeyboardEvent, type PointerEvent, type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import type { TaskLine } from '../../api/wire.ts'
import { Button } from '../../parts/button.tsx'
import { taskName } from '../../text/task-name.ts'
import styles from './graph-canvas.module.css'
import { neighbourOf } from './graph-neighbours.ts'
import { GraphPainter } from './graph-painter.ts'
import { wordOf } from './task-state.ts'

interface GraphCanvasProps {
  tasks: readonly TaskLine[]
  opened: number | undefined
  onOpen(task: number): void
}

/** The tasks of a plan as a picture. The table beside it says the same for those who cannot see it. */
export function GraphCanvas({ tasks, opened, onOpen }: GraphCanvasProps): ReactNode {
  const canvas = useRef<HTMLCanvasElement>(null)
  const painter = useMemo(() => new GraphPainter(), [])
  const [focused, setFocused] = useState<number>()
  useEffect(() => (canvas.current ? painter.attach(canvas.current) : undefined), [painter])
  useEffect(() => painter.show(tasks, opened), [painter, tasks, opened])
  useEffect(() => painter.focus(focused), [painter, focused])

  const handlers = useMemo(() => pointerHandlers(painter, onOpen), [painter, onOpen])
  const onKeyDown = (event: KeyboardEvent) => {
    const direction = /^Arrow(Left|Right|Up|Down)$/.exec(event.key)?.[1]
    if (direction !== undefined) setFocused(neighbourOf(tasks, painter.layout, focused, direction))
    else if (event.key === 'Enter' && focused !== undefined) onOpen(focused)
    else if (event.key === '+') painter.zoomBy(1.25)
    else if (event.key === '-') painter.zoomBy(0.8)
    else if (event.key === '0') painter.fit()
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  const named = tasks.find(({ id }) => id === focused)
  return (
    <div className={styles['graph']}>
      <div className={styles['controls']}>
        <Button onClick={() => painter.fit()}>Fit</Button>
        <Button aria-label="Zoom out" onClick={() => painter.zoomBy(0.8)}>
          −
        </Button>
        <Button aria-label="Zoom in" onClick={() => painter.zoomBy(1.25)}>
          +
        </Button>
      </div>
      {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: arrow keys follow the edges of the picture */}
      <canvas
        ref={canvas}
        className={styles['canvas']}
        tabIndex={0}
        role="application"
        aria-label="Tasks of the plan. Arrow keys go from task to task, Enter opens one. The list says the same."
        onKeyDown={onKeyDown}
        onBlur={() => setFocused(undefined)}
        {...handlers}
      />
      <p className="visually-hidden" aria-live="polite">
        {named && `${taskName(named)}, ${named.title}, ${wordOf(named)}, @${named.skill}`}
      </p>
    </div>
  )
}

/** Dragging moves the picture, a click opens a task, the wheel moves it or, with Ctrl, changes its size. */
function pointerHandlers(painter: GraphPainter, onOpen: (task: number) => void) {
  let start: { x: number; y: number; hasMoved: boolean } | undefined
  return {
    onPointerDown(event: PointerEvent<HTMLCanvasElement>) {
      start = { x: event.clientX, y: event.clientY, hasMoved: false }
      event.currentTarget.setPointerCapture(event.pointerId)
    },
    onPointerMove(event: PointerEvent<HTMLCanvasElement>) {
      const { offsetX, offsetY } = event.nativeEvent
      if (!start) {
        event.currentTarget.style.cursor = painter.taskAt(offsetX, offsetY) === undefined ? 'grab' : 'pointer'
        return
      }
      const [dx, dy] = [event.clientX - start.x, event.clientY - start.y]
      if (!start.hasMoved && Math.hypot(dx, dy) < 4) return
      painter.moveBy(-dx, -dy)
      start = { x: event.clientX, y: event.clientY, hasMoved: true }
    },
    onPointerUp(event: PointerEvent<HTMLCanvasElement>) {
      const { offsetX, offsetY } = event.nativeEvent
      const task = start?.hasMoved === false ? painter.taskAt(offsetX, offsetY) : undefined
      start = undefined
      if (task !== undefined) onOpen(task)
    },
    onPointerCancel() {
      start = undefined
    },
  }
}
