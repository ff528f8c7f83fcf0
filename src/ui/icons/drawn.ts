import { type ComponentType, createElement, type SVGProps } from 'react'

export interface IconProps extends Omit<SVGProps<SVGSVGElement>, 'stroke'> {
  /** Its width and height in pixels; 24 by default. */
  size?: number
  /** The stroke width on a 24-unit grid; 2 by default. */
  stroke?: number
}

/** An outline icon in the color of the surrounding text. */
export const drawn =
  (...paths: readonly string[]): ComponentType<IconProps> =>
  ({ size = 24, stroke = 2, ...rest }) =>
    createElement(
      'svg',
      {
        viewBox: '0 0 24 24',
        width: size,
        height: size,
        fill: 'none',
        stroke: 'currentColor',
        strokeWidth: stroke,
        strokeLinecap: 'round',
        strokeLinejoin: 'round',
        ...rest,
      },
      paths.map(path => createElement('path', { key: path, d: path })),
    )
