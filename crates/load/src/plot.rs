//! The plot of how cost grows, as SVG: a chart beside the other, both axes logarithmic.

use anyhow::{Result, anyhow};
use plotters::prelude::*;

/// Size of one chart, in pixels.
const SIZE: (u32, u32) = (460, 420);

/// Told apart also in print and by people who cannot tell red from green (Okabe and Ito, Color Universal Design, 2008).
const COLORS: [RGBColor; 4] =
    [RGBColor(0, 114, 178), RGBColor(213, 94, 0), RGBColor(0, 158, 115), RGBColor(204, 121, 167)];

/// Lines over one axis.
pub(crate) struct Chart {
    /// What is counted along it.
    pub(crate) x: &'static str,
    pub(crate) lines: Vec<Line>,
}

/// A figure at each count.
pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) points: Vec<(f64, f64)>,
}

impl Chart {
    pub(crate) fn new(x: &'static str, names: &[&'static str]) -> Self {
        Self { x, lines: names.iter().map(|name| Line { name, points: Vec::new() }).collect() }
    }

    /// Adds a point to each line that has a figure.
    pub(crate) fn add<const LINES: usize>(&mut self, x: f64, figures: [Option<f64>; LINES]) {
        for (line, figure) in self.lines.iter_mut().zip(figures) {
            line.points.extend(figure.filter(|y| *y > 0.0).map(|y| (x, y)));
        }
    }
}

/// The charts side by side.
pub(crate) fn svg(charts: &[Chart]) -> Result<String> {
    let failed = |error: &dyn std::fmt::Display| anyhow!("the plot could not be drawn: {error}");
    let mut out = String::new();
    {
        let width = SIZE.0 * u32::try_from(charts.len())?;
        let area = SVGBackend::with_string(&mut out, (width, SIZE.1)).into_drawing_area();
        area.fill(&WHITE).map_err(|error| failed(&error))?;
        for (chart, area) in charts.iter().zip(area.split_evenly((1, charts.len().max(1)))) {
            draw(chart, &area).map_err(|error| failed(&error))?;
        }
        area.present().map_err(|error| failed(&error))?;
    }
    Ok(out)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

fn draw<'a>(
    chart: &Chart,
    area: &Area<'a>,
) -> Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>> {
    let points = || chart.lines.iter().flat_map(|line| &line.points);
    let range = |values: Vec<f64>| {
        let (low, high) = values.iter().fold((f64::INFINITY, 1.0_f64), |(low, high), v| (low.min(*v), high.max(*v)));
        (low.min(high), high)
    };
    let (x_low, x_high) = range(points().map(|point| point.0).collect());
    let (y_low, y_high) = range(points().map(|point| point.1).collect());
    let mut context = ChartBuilder::on(area)
        .margin(10)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d((x_low..x_high * 1.05).log_scale(), (y_low / 3.0..y_high * 20.0).log_scale())?;
    context.configure_mesh().x_desc(chart.x).light_line_style(TRANSPARENT).label_style(("sans-serif", 12)).draw()?;
    for (line, color) in chart.lines.iter().zip(COLORS.iter().cycle()) {
        let color = *color;
        context
            .draw_series(LineSeries::new(line.points.iter().copied(), color.stroke_width(2)).point_size(3))?
            .label(line.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color.stroke_width(2)));
    }
    context
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE)
        .label_font(("sans-serif", 11))
        .draw()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plot_has_each_chart_and_line() {
        let line = |name, points: &[(f64, f64)]| Line { name, points: points.to_vec() };
        let charts = [
            Chart { x: "relays", lines: vec![line("cost", &[(1.0, 5.0), (10.0, 6.0)])] },
            Chart { x: "users", lines: vec![line("time", &[(1.0, 1.0)]), line("memory", &[])] },
        ];
        let svg = svg(&charts).unwrap();
        assert!(svg.starts_with("<svg"));
        for text in ["relays", "cost", "users", "time", "memory"] {
            assert!(svg.contains(text), "{text}");
        }
    }
}
