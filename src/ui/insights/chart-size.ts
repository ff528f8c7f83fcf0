/** Chart heights in pixels. Fixed before the charts load, so that nothing moves. */
export const PANEL_HEIGHT = 150
export const THROUGHPUT_HEIGHT = 220
