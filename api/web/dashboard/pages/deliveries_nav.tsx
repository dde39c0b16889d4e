import { Link } from "../parts/link";
import { path } from "../router";
import { organization } from "../session";

/** Navigation between the three views of deliveries. */
export function DeliveriesNav() {
  const id = organization.value?.id ?? "";
  const here = path.value.slice(id.length + 1);
  const views = [
    ["deliveries", "Deliveries"],
    ["deliveries/endpoints", "Endpoints"],
    ["deliveries/replays", "Replays"],
  ] as const;
  return (
    <nav class="views" aria-label="Views of deliveries">
      <ul>
        {views.map(([to, title]) => (
          <li key={to}>
            <Link to={`${id}/${to}`} current={here === to}>
              {title}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}
