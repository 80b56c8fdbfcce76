import type { ReactNode } from 'react'
import styles from './lane-graph.module.css'
import { type LaneRow, maxLanes } from './turn-lanes.ts'

const laneWidth = 12
const colors = ['var(--blue)', 'var(--green)', 'var(--purple)', 'var(--brown)', 'var(--yellow)']

interface LaneGraphProps {
  row: LaneRow
  /** Lanes of the whole list, so that all rows are equally wide. */
  lanes: number
  height: number
  /** The turn that is shown or marked has a filled dot. */
  isFilled?: boolean
}

/** One row of the tree of turns. */
export function LaneGraph({ row, lanes, height, isFilled = false }: LaneGraphProps): ReactNode {
  const middle = height / 2
  const x = xOf(row.lane)
  return (
    <svg
      className={styles['graph']}
      width={Math.min(lanes, maxLanes + 1) * laneWidth + 4}
      height={height}
      aria-hidden="true"
    >
      {row.through.map((lane) => (
        <path key={lane} d={`M${xOf(lane)} 0V${height}`} stroke={colorOf(lane)} />
      ))}
      {row.joins.map((lane) => (
        <path
          key={lane}
          d={`M${xOf(lane)} 0C${xOf(lane)} ${middle} ${xOf(lane)} ${middle} ${x} ${middle}`}
          stroke={colorOf(lane)}
        />
      ))}
      {row.hasChild && <path d={`M${x} 0V${middle}`} stroke={colorOf(row.lane)} />}
      {row.hasParent && <path d={`M${x} ${middle}V${height}`} stroke={colorOf(row.lane)} />}
      <circle cx={x} cy={middle} r="4" stroke={colorOf(row.lane)} fill={isFilled ? colorOf(row.lane) : 'var(--page)'} />
    </svg>
  )
}

/** Number of lanes that a list needs. */
export function countLanes(rows: readonly LaneRow[]): number {
  return 1 + Math.max(0, ...rows.map(({ lane, through }) => Math.max(lane, ...through)))
}

function xOf(lane: number): number {
  return Math.min(lane, maxLanes) * laneWidth + 8
}

function colorOf(lane: number): string {
  return colors[lane % colors.length] ?? 'var(--blue)'
}
